"""Learn from people's ratings how to combine or rescale scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from persona_panel.analyses import parameters
from persona_panel.analyses.analysis import analysis
from persona_panel.analyses.parameters import COLUMNS_OF_RATINGS, Option
from persona_panel.results.conclusions.wording import (
    all_dimensions,
    counted,
    dimension_called,
    first_upper,
    grouped,
    in_brackets,
    listed,
)
from persona_panel.results.conclusions.wording import p_adjusted as p_text
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, for_programs, row_of
from persona_panel.statistics.core.display import ALL, COMPOSITE, number
from persona_panel.statistics.core.estimate import LEVEL

if TYPE_CHECKING:
    from persona_panel.analyses.inputs import RatingsSource
    from persona_panel.files.ratings import GivenScale
    from persona_panel.files.records import ColumnMapping
    from persona_panel.statistics.alignment import (
        Alignment,
        AlignmentMethod,
        LearntAlignment,
        MethodAlignment,
    )
    from persona_panel.statistics.core.table import Coverage

METHOD_NAMES: Mapping[AlignmentMethod, str] = {
    "isotonic": "isotonic recalibration",
    "weights": "judge weighting",
    "subset": "judge selection",
}
LOWER, HIGHER, NONE = "lower error", "higher error", "no significant gain"
_VERBS = {LOWER: "lowers", HIGHER: "raises"}
_FIGURES = {"rmse": "RMSE", "mae": "mean absolute error", "tau_b": "τ_b"}
_HOW_TO_READ = (
    "All figures are of prompts that nothing was learnt from, compared with people's mean; a "
    "prompt counts once. panel: the mean of all judges. change: aligned less panel, with these "
    "people and judges; an error that falls is closer to people."
)
_IN_FULL = (
    "A lower error is a gain only if τ_b of the aligned scores is shown to be above 0, too; p: the "
    "larger of the two, adjusted by Holm's method over all methods.",
    "RMSE and mean absolute error contain people's own noise, and so do not reach 0.",
)


@analysis(
    "Scores aligned with people’s ratings",
    parameters.ratings("panel"),
    parameters.people("People's ratings of some of the items.", COLUMNS_OF_RATINGS, required=True),
    Option(
        "--method",
        "methods",
        type=click.Choice([*METHOD_NAMES]),
        multiple=True,
        help="What is learnt; repeatable.  [default: all three]",
    ),
    Option(
        "--seed",
        hidden=True,
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Seed of the dealing.",
    ),
    Option(
        "--out",
        metavar="FILE",
        help="Write the aligned scores of one --method to this CSV file, as ratings.",
    ),
    group="People",
    example="runs/first --human ratings.csv",
    requirements=("rmse_change[isotonic] < 0", "alignment[isotonic] == lower error"),
)
def align(
    panel: RatingsSource,
    human: RatingsSource,
    *,
    mapping: ColumnMapping | None = None,
    human_mapping: ColumnMapping | None = None,
    human_scale: GivenScale | None = None,
    allow_unmatched: bool = False,
    methods: Sequence[AlignmentMethod] = (),
    seed: int = 0,
    out: str | Path | None = None,
) -> Result:
    """Learn from people's ratings how to combine or rescale a panel's scores.

    PANEL is a run's folder, or ratings; RATINGS are people's ratings, both as `people correlate`
    takes them. Each prompt is scored by what was learnt from other prompts (cross-fitting), and the
    figures are of these held-out scores:

    \b
      isotonic  a rising function of the mean of all judges
      weights   a mean of judges with weights of 0 or more that sum to 1
      subset    the mean of some of the judges

    A gain is significant where the error, compared with people's mean, is lower than that of the
    panel as it is, and the scores are shown to order the texts of a prompt as people do. Nothing is
    learnt from fewer than ten prompts, or where the reliability of people's mean is not shown to be
    above 0.25. With several dimensions on one scale their mean, the composite, comes first. A
    missing rating stays missing: the weights of the other judges are divided by their sum.

    `people align` changes the scores of single texts. For the mean of a system with an interval,
    take `people calibrate`, which cancels a bias of the panel.

    --out has the column learnt_from: `other prompts` for texts that people rated, `all rated
    prompts` for the others. It is written without a significant gain, too, with a warning.

    Printed are the conclusion and the change of the error, of the composite alone where there is
    one; with --full all figures, and the weights that are a gain. --json always has all.

    Args:
        panel: a run's folder or ratings, as files or as objects.
        human: people's ratings of some of the same items.
        mapping: columns of the panel's file that have other names than its fields.
        human_mapping, human_scale, allow_unmatched: of people's ratings; see
            `load_aligned_ratings`.
        methods: what is learnt; all unless named.
        seed: by which prompts are dealt into five parts.
        out: a new CSV file for the aligned scores of a single method.

    Raises:
        InputError: anything is wrong with either side, they share no item or dimension that is
            rated by numbers, or `out` is no new CSV file of one method's scores.
    """
    from persona_panel.analyses.inputs import HumanInput, input_name, opened_sides, reading_of
    from persona_panel.files.errors import Fault, InputError
    from persona_panel.files.selections import require_csv, write_aligned_scores
    from persona_panel.results.conclusions.wording import rescaling_of
    from persona_panel.statistics import align as alignment

    wanted = tuple(dict.fromkeys(methods)) or tuple(METHOD_NAMES)
    if out is not None:
        require_csv(Path(out), len(wanted))
    people = HumanInput(human, human_mapping, human_scale, allow_unmatched)
    ours, theirs = opened_sides(panel, people, mapping)
    try:
        result = alignment(ours, theirs, methods=wanted, seed=seed)
    except ValueError as error:
        expected = "scores of the same items and dimension, as numbers, on both sides"
        raise InputError([Fault(people.name, str(error), expected)]) from None
    reading = [*reading_of(theirs), *rescaling_of(ours)]
    if out is not None:
        if not (n := write_aligned_scores(result, Path(out))):
            lacks = f"no aligned scores to write: {' '.join(align_conclusion(result)).rstrip('.')}"
            raise InputError([Fault(str(out), lacks, "a method that learns something")])
        reading += [f"{n:,} aligned scores are in {out}.", *_without_a_gain(result)]
    return align_result(
        result,
        reading=reading,
        source=input_name(panel, "the panel's ratings"),
        coverage=ours.coverage,
    )


def align_result(
    alignment_result: Alignment,
    *,
    reading: Sequence[str] = (),
    source: str = "",
    coverage: Coverage | None = None,
) -> Result:
    """Return the result: the change of the error by method, other figures, how reliable people's
    mean is, and what was learnt. `reading`, `source` and `coverage` are as of `Result`."""
    from persona_panel.results.conclusions.rows import called_by, whole_label

    names = [each.dimension for each in alignment_result.dimensions]
    called = called_by(alignment_result.panel.labels)
    labels = {name: called(name) for name in names} | {ALL: whole_label(alignment_result.panel)}
    dimension = Key(
        "dimension", "dimension", names if len(names) == 1 else (ALL, COMPOSITE), labels
    )
    method = Key(
        "method", "method", labels={str(name): label for name, label in METHOD_NAMES.items()}
    )
    learnt = [(each, item) for each in alignment_result.dimensions for item in each.methods]
    people = (
        dimension,
        Column("reliability", "number", "reliability of\ntheir mean"),
        Column("reliability_low", "number", "its lower end"),
        Column("n_people", "whole", "people"),
        Column("n_items", "whole", "items"),
        Column("n_prompts", "whole", "prompts"),
        Column("reason", "text"),
    )
    of_people = Table(
        "people",
        people[:1],
        people[1:],
        [row_of(each, people) for each in alignment_result.dimensions],
        "People's mean" if learnt else "",
        when="full",
    )
    return Result(
        "align",
        align_conclusion(alignment_result),
        [
            *_error_tables(method, dimension, learnt),
            of_people,
            _gaining_weights(dimension, alignment_result.dimensions),
            *_learnt_rules(method, dimension, learnt),
        ],
        [_sizes(alignment_result), _HOW_TO_READ] if learnt else (),
        _IN_FULL if learnt else (),
        reading=reading,
        source=source,
        coverage=coverage,
    )


def _error_tables(
    method: Key, dimension: Key, learnt: Sequence[tuple[LearntAlignment, MethodAlignment]]
) -> Iterator[Table]:
    """Yield the error of each method on held-out prompts, beside the panel's, and other figures."""
    before, after = Column("before", "number", "panel"), Column("after", "number", "aligned")
    change = Column("difference", "estimate", "change")
    claims = (
        before,
        after,
        replace(
            change, unit="points", better="lower", figure="rmse_change", p_figure="alignment_p",
            p="column",
        ),
        Column(
            "verdict", "text", "verdict", figure="alignment", words=(LOWER, HIGHER, NONE), full=True
        ),
        Column("order_p", "p"),
        *for_programs("whole", "n_items", "n_prompts"),
        Column("n_left_out", "whole", "left out", full=True),
    )  # fmt: skip
    has_composite = any(each.dimension == COMPOSITE for each, _ in learnt)
    yield Table(
        "errors",
        (method, dimension),
        claims,
        [_claim(each, item, claims) for each, item in learnt],
        "Error (RMSE) on held-out prompts",
        short={"dimension": {COMPOSITE}} if has_composite else {},
    )
    yield Table(
        "figures",
        (method, dimension, Key("figure", "figure", labels=_FIGURES)),
        (before, after, replace(change, figure="{figure}_change")),
        [
            {"method": item.method, "dimension": each.dimension, "figure": figure.figure,
             "before": figure.before, "after": figure.after, "difference": figure}
            for each, item in learnt for figure in item.figures[1:]
        ],
        "Other figures of nearness to people's mean",
        when="full",
    )  # fmt: skip


def _gaining_weights(dimension: Key, dimensions: Sequence[LearntAlignment]) -> Table:
    """Return the judges' weights by the methods whose error is lower, for people."""
    gains = {
        each.dimension: {
            item.method: item.rule.weights.tolist()
            for item in each.methods
            # A rule with steps weighs no judge.
            if item.rule is not None and not len(item.rule.scores) and verdict(item) == LOWER
        }
        for each in dimensions
    }
    return Table(
        "weights_that_gain",
        (dimension, Key("judge", "judge")),
        tuple(Column(name, "number", METHOD_NAMES[name]) for name in METHOD_NAMES),
        [
            {"dimension": each.dimension, "judge": judge}
            | {name: weights[place] for name, weights in gains[each.dimension].items()}
            for each in dimensions if gains[each.dimension]
            for place, judge in enumerate(each.judges)
        ],
        "Weights learnt from all rated prompts",
        when="full",
        programs=False,
    )  # fmt: skip


def _learnt_rules(
    method: Key, dimension: Key, learnt: Sequence[tuple[LearntAlignment, MethodAlignment]]
) -> Iterator[Table]:
    """Yield what each method learnt, for programs: the judges' weights, and the steps from scores
    to values."""
    rules = [(each, item, item.rule) for each, item in learnt if item.rule is not None]
    yield Table(
        "weights",
        (method, dimension, Key("judge")),
        (Column("weight", "number"),),
        [
            {"method": item.method, "dimension": each.dimension, "judge": judge, "weight": weight}
            for each, item, rule in rules
            for judge, weight in zip(each.judges, rule.weights.tolist(), strict=True)
        ],
    )
    yield Table(
        "steps",
        (method, dimension),
        for_programs("number", "score", "value"),
        [
            {"dimension": each.dimension, "method": item.method, "score": score, "value": value}
            for each, item, rule in rules
            for score, value in zip(rule.scores.tolist(), rule.values.tolist(), strict=True)
        ],
    )


def _claim(
    each: LearntAlignment, learnt_method: MethodAlignment, columns: Sequence[Column]
) -> dict[str, Any]:
    """Return the row of a method's error; without one, why nothing was learnt."""
    from persona_panel.statistics.alignment import HeldOutFigure

    error = learnt_method.error or HeldOutFigure(nan, reason=learnt_method.reason)
    text = verdict(learnt_method)
    return row_of(
        learnt_method,
        columns,
        dimension=each.dimension,
        method=learnt_method.method,
        before=error.before,
        after=error.after,
        difference=replace(error, p_adjusted=learnt_method.p_adjusted),
        verdict=text if text in (LOWER, HIGHER, NONE) else None,
    )


def _sizes(alignment_result: Alignment) -> str:
    """Say how much people rated, and how reliably; of several dimensions from least to most."""
    learnt = [each for each in alignment_result.dimensions if each.methods]

    def span(name: str) -> str:
        values = [getattr(item, name) for item in learnt]
        low, high = (
            f"{x:,}" if isinstance(x, int) else number(x) for x in (min(values), max(values))
        )
        return low if low == high else f"{low} to {high}"

    return (
        f"{span('n_items')} items in {span('n_prompts')} prompts, rated by {span('n_people')} "
        f"people; reliability of their mean {span('reliability')}."
    )


def verdict(learnt_method: MethodAlignment) -> str:
    """Return what is shown of a method: `LOWER`, `HIGHER` or `NONE`; its reason where it learnt
    nothing.

    An error is lower only where the aligned scores also order texts as people do.
    """
    if learnt_method.reason is not None:
        return learnt_method.reason
    error = learnt_method.error
    if error is None or not learnt_method.p_adjusted < LEVEL:
        return NONE
    return LOWER if error.value < 0 else HIGHER


def align_conclusion(alignment_result: Alignment) -> list[str]:
    """Say which methods lower the error on held-out prompts, which do not, and why nothing was
    learnt: on the composite, or the only dimension, then on the other dimensions together."""
    labelled = _labelled(alignment_result)
    learnt = [each for each in labelled if each.reason is None]
    primary = [each for each in learnt if each.dimension == COMPOSITE]
    rest = [each for each in learnt if each.dimension != COMPOSITE]
    if len(rest) == 1:
        primary, rest = primary + rest, []
    refused = grouped(labelled, lambda each: each.reason)
    return [
        *(sentence for item in primary for sentence in _on_dimension(item)),
        *_by_dimension(rest),
        *(_refused(reason, those) for reason, those in refused.items()),
    ]


def _labelled(alignment_result: Alignment) -> list[LearntAlignment]:
    """Return the dimensions by the labels that people read."""
    from persona_panel.results.conclusions.rows import called_by

    called = called_by(alignment_result.panel.labels)
    dimensions = alignment_result.dimensions
    return [replace(each, dimension=called(each.dimension)) for each in dimensions]


def _without_a_gain(alignment_result: Alignment) -> list[str]:
    """Say what to know of aligned scores that are written although no gain is significant."""
    without = [
        item.dimension
        for item in _labelled(alignment_result)
        if any(of.scores is not None and verdict(of) != LOWER for of in item.methods)
    ]
    if not without:
        return []
    return [
        f"Warning: no gain is significant{_on(without)}: these scores are not shown to be closer "
        "to people's ratings than the panel's own."
    ]


def _on(dimensions: Sequence[str]) -> str:
    names = [dimension_called(name) for name in dimensions if name != ALL]
    return f" on {listed(names, 'dimensions')}" if names else ""


def _on_dimension(aligned: LearntAlignment) -> list[str]:
    on, sentences = _on([aligned.dimension]), []
    by_verdict = grouped(aligned.methods, verdict)
    for word, verb in _VERBS.items():
        sentences += [_changed(method, verb, on) for method in by_verdict.pop(word, [])]
    if none := by_verdict.pop(NONE, []):
        sentences.append(f"No gain is significant{on} by {_listed(none)}{_but(none)}.")
    for reason, those in by_verdict.items():
        sentences.append(f"Nothing was learnt{on} by {_listed(those)}: {reason}.")
    return sentences


def _by_dimension(dimensions: Sequence[LearntAlignment]) -> list[str]:
    """Return a sentence for each method: on which of several dimensions it does what."""
    by_method: dict[AlignmentMethod, dict[str, MethodAlignment]] = {}
    for each in dimensions:
        for item in each.methods:
            by_method.setdefault(item.method, {})[each.dimension] = item
    return [
        f"By dimension, {METHOD_NAMES[method]} {'; it '.join(_verdicts(of))}."
        for method, of in by_method.items()
    ]


def _verdicts(of: Mapping[str, MethodAlignment]) -> Iterator[str]:
    """Say what a method does on these dimensions, and on which of them."""
    from persona_panel.results.conclusions.rows import on_dimensions

    by_verdict = grouped(of, lambda name: verdict(of[name]))
    for word in dict.fromkeys((LOWER, HIGHER, NONE, *by_verdict)):
        if not (names := by_verdict.get(word)):
            continue
        on = on_dimensions(names, of, "any dimension" if word == NONE else all_dimensions(len(of)))
        if word in _VERBS:
            changes = [abs(of[name].figures[0].value) for name in names]
            points = " to ".join(dict.fromkeys((number(min(changes)), number(max(changes)))))
            yield f"{_VERBS[word]} the error on held-out prompts{on} (by {points} points)"
        elif word == NONE:
            yield f"has no significant gain{on}{_but_by_dimension(names, of)}"
        else:
            yield f"learnt nothing{on} ({word})"


def _but_by_dimension(names: Sequence[str], of: Mapping[str, MethodAlignment]) -> str:
    from persona_panel.results.conclusions.rows import on_dimensions

    drawn = [name for name in names if _is_drawn(of[name])]
    if not drawn:
        return ""
    on = "" if len(drawn) == len(names) else on_dimensions(drawn, of, "")
    return f" (the error{on} is lower, but the scores are not shown to order texts as people do)"


def _changed(learnt_method: MethodAlignment, verb: str, on: str) -> str:
    name, error = METHOD_NAMES[learnt_method.method], learnt_method.figures[0]
    # Without its sign.
    moved = error.from_above
    facts = in_brackets(moved.interval(), p_text(learnt_method.p_adjusted))
    return (
        f"{first_upper(name)} {verb} the error{on} on held-out prompts by "
        f"{moved.number()} points{facts}: RMSE {number(error.after)} instead of "
        f"{number(error.before)}."
    )


def _but(none: Sequence[MethodAlignment]) -> str:
    """Say, where the error is lower and the order shows nothing of people's, that this is why."""
    drawn = [item for item in none if _is_drawn(item)]
    if not drawn:
        return ""
    names = "" if len(drawn) == len(none) else f" of {_listed(drawn)}"
    return (
        f": the error{names} is lower, but the scores are not shown to order texts as people do; "
        "scores that have nothing to do with people come nearer to them, too, once they are drawn "
        "to people's mean"
    )


def _is_drawn(learnt_method: MethodAlignment) -> bool:
    """Return whether the error is lower without an order that is shown to be people's."""
    error = learnt_method.error
    is_lower = error is not None and error.p < LEVEL and error.value < 0
    return is_lower and learnt_method.p >= LEVEL


def _refused(reason: str, those: Sequence[LearntAlignment]) -> str:
    learnt, facts = those[0], []
    if len(those) == 1 and not isnan(learnt.reliability):
        facts.append(f"reliability {number(learnt.reliability)}")
        if not isnan(learnt.reliability_low):
            facts.append(f"lower end of its 95 % interval {number(learnt.reliability_low)}")
        facts.append(counted(learnt.n_prompts, "prompt"))
    on = _on([item.dimension for item in those])
    return f"Nothing is learnt from people{on}: {reason}{in_brackets(*facts)}."


def _listed(methods: Sequence[MethodAlignment]) -> str:
    return listed([METHOD_NAMES[method.method] for method in methods])
