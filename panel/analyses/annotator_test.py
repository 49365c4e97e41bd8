"""Sentences on the alternative annotator test: whether the panel may take the place of a person,
and which of its judges pass."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from persona_panel.results.conclusions.rows import by_dimension, figure, from_to, on_dimensions
from persona_panel.results.conclusions.wording import (
    NAMES_SHOWN,
    all_dimensions,
    counted,
    listed,
    rescaling_of,
)
from persona_panel.runs.scale_limits import POINTS, SHARES_OF_WIDTH
from persona_panel.statistics.annotators import without_names
from persona_panel.statistics.core.arrays import Reason, row_means
from persona_panel.statistics.core.display import COMPOSITE, number, percent
from persona_panel.statistics.core.estimate import PASSED, POWER
from persona_panel.statistics.core.table import Ratings, Row, on_composite
from persona_panel.statistics.scores import DistanceParts, distance_parts

_MOSTLY = 0.5
"""The share of the squared distance from which on another level and unit is what is advised."""
_RATE, _ADVANTAGE, _NEEDED = "alt_test_winning_rate", "alt_test_advantage", "alt_test_items_needed"


def annotator_test_conclusion(
    rows: Sequence[Row],
    group: str,
    correlated: Collection[str],
    panel: Ratings,
    humans: Ratings,
    judges: Mapping[str, str],
) -> list[str]:
    """Return a sentence on the panel and one on its judges for the composite, or the only
    dimension, and for the other dimensions together; one for each reason why the test is undefined;
    none where it was not asked for.

    Where people's ratings are noisy, one score for every item passes the test, too: with a
    reliability of their mean of 0.56 in 95 % of simulated tables. So a panel that passes is said to
    be fit to take a person's place only where it also correlates with people.

    Args:
        correlated: the dimensions on which a correlation, or agreement of labels, is significant.
        panel, humans: what was compared; their distance says why a panel that correlates does not
            pass.
        judges: what judges are called, by their names in `rows`.
    """
    rates = by_dimension(rows, group, _RATE)
    advantages, needed = (by_dimension(rows, group, name) for name in (_ADVANTAGE, _NEEDED))
    sentences = _undefined(rates)
    defined = [name for name, rate in rates.items() if not rate.reason]
    rest = [name for name in defined if name != COMPOSITE]
    together = rest if len(rest) > 1 else []
    for name in defined:
        if name in together:
            continue
        on = on_dimensions([name], rates, "")
        how = _how(rates[name], name in correlated)
        figures = (
            f"winning rate {number(rates[name].value)}, {PASSED:g} needed "
            f"({without_names(rates[name].note)}), "
            f"advantage ρ {figure(advantages[name])}"
        )
        if how == _NEAR:
            figures += (
                ". No correlation with people is significant, and one score for every item may "
                "be as near: that the panel is as good as a person is not shown"
            )
        sentences.append(f"By the alternative annotator test the panel {how}{on}: {figures}.")
        if how == _FAILED and name in correlated:
            sentences += _why(name, on, group, panel, humans)
        sentences += _to_pass([name], rates, needed)
        sentences += _judges(rows, group, name, on, judges)
    if together:
        sentences.append(_by_dimension(together, rates, advantages, correlated))
        fails = COMPOSITE in defined and not _passed(rates[COMPOSITE])
        if fails and all(_passed(rates[name]) for name in together):
            sentences.append(_HIGHER)
        if COMPOSITE not in defined:
            for name in together:
                if name in correlated and not _passed(rates[name]):
                    sentences += _why(name, on_dimensions([name], rates, ""), group, panel, humans)
                    break
            sentences += _to_pass(together, rates, needed)
        sentences += _judges_by_dimension(rows, group, together)
    return sentences


_HIGHER = (
    "People's errors average out in their composite, so its bar is higher than that of each "
    "dimension; the composite is the primary result."
)
_FIT = "is shown to be as good as a person"
_NEAR = "is as near to the others as a person is"
_FAILED = "is not shown to be as good as a person"


def _how(rate: Row, correlated: bool) -> str:
    if not _passed(rate):
        return _FAILED
    return _FIT if correlated else _NEAR


def _by_dimension(
    names: Sequence[str],
    rates: Mapping[str, Row],
    advantages: Mapping[str, Row],
    correlated: Collection[str],
) -> str:
    """Say where the panel passes, of several dimensions, and the range of its figures."""
    parts = []
    for how in (_FIT, _NEAR, _FAILED):
        if those := [name for name in names if _how(rates[name], name in correlated) == how]:
            every = "any dimension" if how == _FAILED else all_dimensions(len(names))
            why = (
                " (one score for every item may be, too: no correlation is significant)"
                if how == _NEAR
                else ""
            )
            parts.append(f"{how}{on_dimensions(those, names, every)}{why}")
    figures = ", ".join(
        f"{what} {from_to([result[name] for name in names], 2)}"
        for what, result in (("winning rate", rates), ("advantage ρ", advantages))
    )
    epsilon, *_ = rates[names[0]].note.split(";")
    people = [rates[name].n_raters for name in names]
    least, most = min(people), max(people)
    tested = f"{least:,} to {most:,}" if least < most else f"{most:,}"
    who = "person" if tested == "1" else "people"
    return (
        f"By dimension the panel {'; it '.join(parts)}: {figures} ({epsilon}; tested against "
        f"{tested} {who})."
    )


def _why(name: str, on: str, group: str, panel: Ratings, humans: Ratings) -> list[str]:
    """Say how the scores of a panel that correlates with people and does not pass differ."""
    result = _distance(name, group, panel, humans)
    if result is None:
        return []
    by, side = number(abs(result.shift)), "above" if result.shift > 0 else "below"
    rescaled = name == COMPOSITE and any(rescaling_of(panel))
    unit = (SHARES_OF_WIDTH if rescaled else POINTS).after_number
    level = "that of people" if by == number(0.0) else f"{by}{unit} {side} people's"
    text = (
        "The test asks how near scores are, a correlation only how they order texts"
        f"{on and f':{on}'}{',' if on else ':'} the panel's mean is {level} and its scores spread "
        f"{number(result.spread)} times as far. Another level and unit would take away at most "
        f"{percent(result.linear_share)} of the mean squared distance between them"
    )
    if result.linear_share < _MOSTLY:
        return [f"{text}; the rest is of single texts."]
    return [
        f"{text}: `people calibrate` takes such a bias out of systems' means, `people align` out "
        "of single scores."
    ]


def _distance(name: str, group: str, panel: Ratings, humans: Ratings) -> DistanceParts | None:
    """Return how far a group's mean is from people's on a dimension, on the items of both."""
    if name == COMPOSITE and name not in panel.dimensions:
        sides = on_composite(panel, humans)
        if sides is None:
            return None
        panel, humans = sides
    both = name in panel.dimensions and name in humans.dimensions
    if not both or name in panel.categories or panel.lower_is_better != humans.lower_is_better:
        return None
    place = {item: row for row, item in enumerate(humans.items)}
    rows = [row for row, item in enumerate(panel.items) if item in place]
    judges = panel.raters_by_group()[group]
    ours = panel.scores[:, judges, panel.dimensions.index(name)][rows]
    theirs = humans.scores[:, :, humans.dimensions.index(name)]
    return distance_parts(
        row_means(ours), row_means(theirs[[place[panel.items[row]] for row in rows]])
    )


def _to_pass(
    names: Sequence[str], rates: Mapping[str, Row], needed: Mapping[str, Row]
) -> list[str]:
    """Say how many items would let the panel pass, on the dimension that needs most."""
    open_ = [name for name in names if not _passed(rates[name]) and not needed[name].reason]
    if not open_:
        return []
    hardest = max(open_, key=lambda name: needed[name].value)
    n = counted(int(needed[hardest].value), "new item")
    return [
        f"About {n} rated by each person would give a winning rate of {PASSED:g}"
        f"{on_dimensions([hardest], rates, '')} with a probability of {percent(POWER)}."
    ]


def _undefined(rates: Mapping[str, Row]) -> list[str]:
    """Return a sentence for each reason, with all dimensions that it is the reason of."""
    by_reason: dict[Reason, list[str]] = {}
    for dimension, rate in rates.items():
        if rate.reason:
            by_reason.setdefault(rate.reason, []).append(dimension)
    sentences = []
    for reason, names in by_reason.items():
        on = on_dimensions(names, rates, "every dimension")
        sentences.append(f"The alternative annotator test is undefined{on}: {reason}.")
    return sentences


def _judges(
    rows: Sequence[Row], group: str, dimension: str, on: str, called: Mapping[str, str]
) -> list[str]:
    """Say which of several judges pass."""
    those, n = _of_judges(rows, group, dimension)
    if n < 2:
        return []
    names_of = [row.by_value or "" for row in those if _passed(row)]
    passed = [called.get(name, name) for name in names_of]
    names = f": {listed(passed)}" if 0 < len(passed) <= NAMES_SHOWN else ""
    if not those:
        return [f"None of its {n:,} judges alone can be tested{on}."]
    return [f"Of its {_tested(n, [len(those)])}{on}, {_pass(len(passed))} it{names}."]


def _tested(n_judges: int, tested: Sequence[int]) -> str:
    """Say how many judges there are and how many of them, on each dimension, can be tested."""
    alone = f"{counted(n_judges, 'judge')} alone"
    if set(tested) == {n_judges}:
        return alone
    least, most = min(tested), max(tested)
    return f"{alone}, of whom {least:,}{f' to {most:,}' if most > least else ''} can be tested"


def _pass(n: int) -> str:
    return "1 passes" if n == 1 else f"{n:,} pass" if n else "none pass"


def _judges_by_dimension(rows: Sequence[Row], group: str, dimensions: Sequence[str]) -> list[str]:
    """Say how many of several judges pass, from the dimension with fewest to that with most."""
    of_each = [_of_judges(rows, group, name) for name in dimensions]
    judges = [those for those, _ in of_each]
    n_judges = max(n for _, n in of_each)
    if n_judges < 2:
        return []
    if not any(judges):
        return [f"None of its {n_judges:,} judges alone can be tested."]
    passed = [sum(map(_passed, those)) for those in judges]
    least, most = min(passed), max(passed)
    if not most:
        text = "none pass it on any dimension"
    elif least == most:
        text = f"{_pass(most)} it on each dimension"
    else:
        text = f"{least:,} to {most:,} pass it, depending on the dimension"
    return [f"Of its {_tested(n_judges, [*map(len, judges)])}, {text}."]


def _of_judges(rows: Sequence[Row], group: str, dimension: str) -> tuple[list[Row], int]:
    """Return the rows of the judges that can be tested, and how many judges there are."""
    rates = [
        row
        for row in rows
        if (row.statistic, row.group, row.dimension) == (_RATE, group, dimension)
        and row.by is not None
    ]
    return [row for row in rates if not row.reason], len(rates)


def _passed(row: Row) -> bool:
    return row.value >= PASSED
