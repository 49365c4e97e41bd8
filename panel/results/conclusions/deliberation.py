"""Conclusions on a run's deliberation: whether it brought the panel closer to people, and
whether judges differ less after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isnan

from persona_panel.results.conclusions.rows import sign_of
from persona_panel.results.conclusions.wording import counted, in_brackets, listed, p_adjusted
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.estimate import LEVEL
from persona_panel.statistics.core.means import items_needed, widened
from persona_panel.statistics.revisions import Change, Direction, TowardHumans

_SENTENCES = {
    Direction.TOWARD: "Deliberation moved the panel toward people on {names}{facts}.",
    Direction.AWAY: "Deliberation moved the panel away from people on {names}{facts}.",
    Direction.DIVIDED: "Deliberation moved the panel toward people by one measure and away "
    "from them by the other on {names}{facts}.",
    Direction.ITSELF: "On {names} judges differ less after deliberation, and no change of their "
    "agreement with people is shown.",
    Direction.NONE: "On {names} no change by deliberation is shown, which does not show that "
    "there is none.",
    Direction.UNKNOWN: "Whether deliberation moved the panel toward people on {names} is "
    "not known: {why}.",
}


def deliberation_conclusion(
    n_deliberated: int,
    n_responses: int,
    spread: Mapping[str, Change],
    humans: Mapping[str, TowardHumans] | None,
) -> list[str]:
    """Return where deliberation led, by the adjusted tests of `toward_humans`; without people's
    ratings, on which dimensions the spread of judges changed.

    Args:
        spread: the change of the spread of judges, by dimension.
        humans: the panel compared with people before and after, by dimension; None: no ratings
            by people were given.
    """
    if not n_deliberated:
        return [f"None of {counted(n_responses, 'response')} was deliberated."]
    if humans is not None:
        return _directions(humans)
    return [
        *_spreads(spread),
        "Whether deliberation brought the panel closer to people is not known without ratings "
        "by people (--human).",
    ]


def _directions(humans: Mapping[str, TowardHumans]) -> list[str]:
    sentences = []
    for direction, sentence in _SENTENCES.items():
        names = [name for name, human in humans.items() if human.direction is direction]
        if not names:
            continue
        p = max(min(_p_values(humans[name]) or [1.0]) for name in names)
        why = dict.fromkeys(str(human) for name in names if (human := humans[name].reason))
        sentences.append(
            sentence.format(
                names=listed(names, "dimensions"),
                facts=in_brackets(f"largest {p_adjusted(p)}" if len(names) > 1 else p_adjusted(p)),
                why="; ".join(why) or "nothing can be compared",
            )
        )
    if any(human.reason is Reason.FEW_TO_TELL for human in humans.values()):
        n_tests = sum(len(_p_values(human)) for human in humans.values())
        sentences.append(
            f"A test takes at least {items_needed(LEVEL / max(1, n_tests))} deliberated prompts "
            "with ratings by people."
        )
    return sentences


def _p_values(human: TowardHumans) -> list[float]:
    p_values = human.tau_c.p_adjusted, human.distance.p_adjusted
    return [p for p in p_values if not isnan(p)]


def _spreads(spread: Mapping[str, Change]) -> list[str]:
    """Say where judges differ less or more, by intervals widened for all dimensions."""
    signs = {name: _sign(change, len(spread)) for name, change in spread.items()}
    sentences = [
        f"After deliberation judges differ {how} on {_named(names)} (intervals adjusted for "
        f"{counted(len(spread), 'dimension')})."
        for sign, how in ((-1, "less"), (1, "more"))
        if (names := [name for name, value in signs.items() if value == sign])
    ]
    if sentences:
        return sentences
    return ["Deliberation is not shown to have changed how far judges differ, on any dimension."]


def _named(names: Iterable[str]) -> str:
    return listed(list(names), "dimensions")


def _sign(change: Change, n_tests: int) -> int:
    if not change.has_interval:
        return 0
    return sign_of(widened(change.value, *change.ends, change.df, n_tests))
