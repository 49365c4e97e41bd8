"""What aligning a panel with people shows: a gain on held-out prompts, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan

from persona_panel.results.conclusions.labels import labelled_alignment
from persona_panel.results.conclusions.rows import on_dimensions
from persona_panel.results.conclusions.wording import (
    all_dimensions,
    counted,
    dimension_called,
    in_brackets,
    interval,
    listed,
)
from persona_panel.results.conclusions.wording import p_adjusted as told_p
from persona_panel.statistics.alignment import (
    AlignedDimension,
    Alignment,
    HeldOutFigure,
    MethodAlignment,
)
from persona_panel.statistics.alignment_rules import AlignmentMethod
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.display import ALL, COMPOSITE, number
from persona_panel.statistics.core.levels import LEVEL

METHOD_NAMES: Mapping[AlignmentMethod, str] = {
    "isotonic": "isotonic recalibration",
    "weights": "judge weighting",
    "subset": "judge selection",
}
LOWER, HIGHER, NONE = "lower error", "higher error", "no gain established"


def verdict(found: MethodAlignment) -> str:
    """What is shown of a method: `LOWER`, `HIGHER` or `NONE`; its reason where it learnt nothing.

    An error is lower only where the aligned scores also order texts as people do.
    """
    if found.reason is not None:
        return found.reason
    error = found.error
    if error is None or not found.p_adjusted < LEVEL:
        return NONE
    return LOWER if error.difference < 0 else HIGHER


def align_conclusion(found: Alignment) -> list[str]:
    """Which methods lower the error on held-out prompts, which do not, and why nothing was learnt:
    on the composite, or the only dimension, then on the other dimensions together."""
    found = labelled_alignment(found)
    refused: dict[Reason, list[AlignedDimension]] = {}
    primary: list[AlignedDimension] = []
    rest: list[AlignedDimension] = []
    for one in found.dimensions:
        if one.learnt.reason is not None:
            refused.setdefault(one.learnt.reason, []).append(one)
        else:
            (primary if one.dimension == COMPOSITE else rest).append(one)
    if len(rest) == 1:
        primary, rest = primary + rest, []
    said = [sentence for one in primary for sentence in _on_dimension(one)]
    return [
        *said,
        *_by_dimension(rest),
        *(_refused(reason, those) for reason, those in refused.items()),
    ]


def without_a_gain(found: Alignment) -> str | None:
    """What to know of aligned scores that are written although no gain is established; None where
    one is established on each dimension that has scores."""
    without = [
        one.dimension
        for one in labelled_alignment(found).dimensions
        if any(of.scores is not None and verdict(of) != LOWER for of in one.learnt.methods)
    ]
    if not without:
        return None
    names = [dimension_called(name) for name in without if name != ALL]
    on = f" on {listed(names, 'dimensions')}" if names else ""
    return (
        f"no gain is established{on}: these scores are not shown to be nearer to people's ratings "
        "than the panel's own."
    )


def _on_dimension(found: AlignedDimension) -> list[str]:
    on = "" if found.dimension == ALL else f" on {dimension_called(found.dimension)}"
    said = []
    by_verdict: dict[str, list[MethodAlignment]] = {}
    for one in found.learnt.methods:
        by_verdict.setdefault(verdict(one), []).append(one)
    for word, verb in ((LOWER, "lowers"), (HIGHER, "raises")):
        for one in by_verdict.pop(word, []):
            said.append(_changed(one, one.figures[0], verb, on))
    none = by_verdict.pop(NONE, [])
    if none:
        said.append(f"No gain is established{on} by {_listed(none)}{_but(none)}.")
    for reason, those in by_verdict.items():
        said.append(f"Nothing was learnt{on} by {_listed(those)}: {reason}.")
    return said


def _by_dimension(found: Sequence[AlignedDimension]) -> list[str]:
    """A sentence for each method: on which of several dimensions it does what."""
    by_method: dict[AlignmentMethod, dict[str, MethodAlignment]] = {}
    for each in found:
        for one in each.learnt.methods:
            by_method.setdefault(one.method, {})[each.dimension] = one
    return [
        f"By dimension, {METHOD_NAMES[method]} {'; it '.join(_verdicts(of))}."
        for method, of in by_method.items()
    ]


def _verdicts(of: Mapping[str, MethodAlignment]) -> list[str]:
    """What a method does on these dimensions, and on which of them."""
    by_verdict: dict[str, list[str]] = {LOWER: [], HIGHER: [], NONE: []}
    for name, one in of.items():
        by_verdict.setdefault(verdict(one), []).append(name)
    said = []
    for word, names in by_verdict.items():
        if not names:
            continue
        on = on_dimensions(names, of, all_dimensions(len(of)))
        if word in (LOWER, HIGHER):
            verb = "lowers" if word == LOWER else "raises"
            changes = [abs(of[name].figures[0].difference) for name in names]
            least, most = number(min(changes)), number(max(changes))
            points = least if least == most else f"{least} to {most}"
            said.append(f"{verb} the error on held-out prompts{on} (by {points} points)")
        elif word == NONE:
            on = on_dimensions(names, of, "any dimension")
            said.append(f"has no established gain{on}{_but_by_dimension(names, of)}")
        else:
            said.append(f"learnt nothing{on} ({word})")
    return said


def _but_by_dimension(names: Sequence[str], of: Mapping[str, MethodAlignment]) -> str:
    drawn = [name for name in names if _is_drawn(of[name])]
    if not drawn:
        return ""
    on = "" if len(drawn) == len(names) else on_dimensions(drawn, of, "")
    return f" (the error{on} is lower, but the scores are not shown to order texts as people do)"


def _changed(one: MethodAlignment, error: HeldOutFigure, verb: str, on: str) -> str:
    name = METHOD_NAMES[one.method]
    told = in_brackets(interval(*_ends(error.ci_low, error.ci_high)), told_p(one.p_adjusted))
    return (
        f"{name[0].upper()}{name[1:]} {verb} the error{on} on held-out prompts by "
        f"{number(abs(error.difference))} points{told}: RMSE {number(error.after)} instead of "
        f"{number(error.before)}."
    )


def _ends(low: float, high: float) -> tuple[float, float]:
    """The ends of a change without its sign."""
    return (-high, -low) if high < 0 else (low, high)


def _but(none: Sequence[MethodAlignment]) -> str:
    """Where the error is lower, and the order shows nothing of people's, that this is why."""
    drawn = [one for one in none if _is_drawn(one)]
    if not drawn:
        return ""
    names = "" if len(drawn) == len(none) else f" of {_listed(drawn)}"
    return (
        f": the error{names} is lower, but the scores are not shown to order texts as people do; "
        "scores that have nothing to do with people come nearer to them, too, once they are drawn "
        "to people's mean"
    )


def _is_drawn(one: MethodAlignment) -> bool:
    """Whether the error is lower without an order that is shown to be people's."""
    error = one.error
    return error is not None and error.p < LEVEL and error.difference < 0 and one.p >= LEVEL


def _refused(reason: Reason, those: Sequence[AlignedDimension]) -> str:
    names = [dimension_called(one.dimension) for one in those if one.dimension != ALL]
    on = f" on {listed(names, 'dimensions')}" if names else ""
    learnt = those[0].learnt
    facts = []
    if len(those) == 1 and not isnan(learnt.reliability):
        facts.append(f"reliability {number(learnt.reliability)}")
        if not isnan(learnt.reliability_low):
            facts.append(f"lower end of its 95 % interval {number(learnt.reliability_low)}")
        facts.append(counted(learnt.n_prompts, "prompt"))
    return f"Nothing is learnt from people{on}: {reason}{in_brackets(*facts)}."


def _listed(methods: Sequence[MethodAlignment]) -> str:
    return listed([METHOD_NAMES[one.method] for one in methods])
