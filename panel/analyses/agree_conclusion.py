"""Sentences on the agreement of raters: beyond chance or not, and how high."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan

from persona_panel.results.conclusions.rows import (
    adjusted_ends,
    by_dimension,
    clusters_of,
    figure,
    from_to,
    labelled_rows,
    on_dimensions,
    p_of,
    range_over,
    rater_word,
    reasons_of,
    split_composite,
    spread_of,
    strata_differ,
)
from persona_panel.results.conclusions.wording import (
    AVERAGED,
    WITHOUT_PEOPLE,
    all_dimensions,
    counted,
    listed,
    would_show,
)
from persona_panel.statistics.core.display import ALL, COMPOSITE, number
from persona_panel.statistics.core.estimate import LEVEL, RELIABLE, TENTATIVE
from persona_panel.statistics.core.means import FEW_OFF_AN_END, assured
from persona_panel.statistics.core.table import Ratings, Row

_ALPHA = "Krippendorff α"


def agree_conclusion(rows: Sequence[Row], ratings: Ratings, by: str) -> list[str]:
    """Say whether all raters together agree beyond chance, and whether Krippendorff's α reaches the
    values usually asked for; what would settle what is open.

    Beyond chance: the permutation test of Kendall's W (or of its form for incomplete rankings),
    adjusted over dimensions; where neither is defined, α above 0. What is said of α rests on
    intervals that are widened for the number of dimensions. The number of prompts is that of a
    t-test on the jackknife's pseudovalues of α, with the value and the spread that were observed.
    The composite, where there is one, comes first: a family of its own.
    """
    rows, (ratings,) = labelled_rows(rows, ratings)
    *_, group = ratings.raters_by_group()
    differ = strata_differ(rows, "krippendorff_alpha", _ALPHA, by)
    composite, rows = split_composite(rows, ratings)
    if by not in ("dimension", "group"):
        return [_broken_down(composite or rows, group, by), *differ]
    alphas = by_dimension(rows, group, "krippendorff_alpha")
    if not alphas or all(row.reason for row in alphas.values()):
        why = reasons_of(alphas.values()) or "no ratings"
        return [f"Agreement cannot be measured: {why}."]
    families, word = _families(composite, rows, group), rater_word(ratings)
    return [
        _beyond_chance(families, word),
        *_orders_alone(families),
        *_levels(families),
        # What is open of the composite goes first; dimensions have their turn where it is settled.
        *next(filter(None, (_to_settle(family, ratings) for family in families)), ()),
        *differ,
        *_effective_number(composite, rows, group, word),
        *_limits(ratings, group),
    ]


_Ends = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class _Family:
    """The statistics that are tested together, of the composite or the dimensions: α of each, its
    interval widened for their number; and the tests of agreement."""

    alphas: Mapping[str, Row]
    ends: _Ends
    tests: Mapping[str, Row]

    @property
    def trusted(self) -> _Ends:
        """Return the intervals by which α is shown to be on a side of a level, or not."""
        return {name: own for name, own in self.ends.items() if not self.alphas[name].caution}


def _families(composite: Sequence[Row], rows: Sequence[Row], group: str) -> list[_Family]:
    """Return the families of the composite and of the dimensions, as far as there are any."""
    parts, tests = [], []
    for those in (composite, rows):
        alphas = by_dimension(those, group, "krippendorff_alpha")
        parts.append(alphas if any(not row.reason for row in alphas.values()) else {})
        tests.append(_tests(those, group))
    return [
        _Family(
            alphas,
            {name: adjusted_ends(row, len(alphas)) for name, row in alphas.items()},
            own,
        )
        for alphas, own in zip(parts, tests, strict=True)
        if alphas
    ]


_TESTS = {"kendall_w": "Kendall W", "kendall_w_incomplete": "W of incomplete rankings"}


def _tests(rows: Sequence[Row], group: str) -> dict[str, Row]:
    """Return by dimension the permutation test of agreement of most raters, where W is defined."""
    return {
        name: row
        for statistic in _TESTS
        for name, row in by_dimension(rows, group, statistic).items()
        if not isnan(row.p_value)
    }


def _broken_down(rows: Sequence[Row], group: str, by: str) -> str:
    values = [
        row
        for row in rows
        if (row.statistic, row.by) == ("krippendorff_alpha", by)
        and row.group in (group, ALL)
        and not row.reason
    ]
    text = f"{_ALPHA} is undefined for each of them"
    if values:
        text = f"{_ALPHA} {range_over(values)}"
    return f"Agreement by {by}: {text}."


def _beyond_chance(families: Sequence[_Family], word: str) -> str:
    n_raters = max(row.n_raters for each in families for row in each.alphas.values())
    text = _agreeing(families[0])
    for family in families[1:]:
        text += f"; by dimension they {_agreeing(family, text)}"
    return f"The {counted(n_raters, word)} {text}."


def _orders_alone(families: Sequence[_Family]) -> list[str]:
    """Say why α may be above 0 where W is not significant, if it is so."""
    if any(
        name in each.tests and each.tests[name].p_value >= LEVEL and low > 0
        for each in families
        for name, (low, _) in each.ends.items()
    ):
        return [
            "Kendall W asks whether raters order items alike more than chance does, "
            f"{_ALPHA} how far ratings of an item differ compared with those of different items: "
            "one may be shown without the other."
        ]
    return []


def _agreeing(family: _Family, before: str = "") -> str:
    """Say on which of a family raters agree beyond chance, and by what; by intervals only where
    that was not said `before`."""
    alphas, tests = family.alphas, family.tests
    lows = {name: low for name, (low, _) in family.ends.items()}
    names = [
        name
        for name in alphas
        if (tests[name].p_value < LEVEL if name in tests else lows[name] > 0)
    ]
    others = [name for name in alphas if name not in names]
    if not names:
        on = on_dimensions(others, alphas, "any dimension")
        return f"are not shown to agree beyond chance{on}{_basis(others, tests, lows)}"
    on = on_dimensions(names, alphas, all_dimensions(len(alphas)))
    basis = _basis(names, tests, lows)
    text = f"agree beyond chance{on}{'' if not tests and basis in before else basis}"
    if not others:
        return text
    on = listed(others, "dimensions")
    return f"{text}; this is not shown on {on}{_basis(others, tests, lows)}"


def _basis(names: Sequence[str], tests: Mapping[str, Row], lows: Mapping[str, float]) -> str:
    """Say by which tests agreement beyond chance is shown, or not, on these dimensions."""
    facts = []
    for statistic, what in _TESTS.items():
        rows = [row for name in names if (row := tests.get(name)) and row.statistic == statistic]
        if rows:
            # Of what is shown the weakest, of the rest the strongest.
            shown = rows[0].p_value < LEVEL
            row = (max if shown else min)(rows, key=lambda entry: entry.p_value)
            others = (
                "" if len(rows) == 1 or row.p_value == 1 else " or less" if shown else " or more"
            )
            facts.append(f"{what}, {p_of(row)}{others}")
    untested = [lows[name] for name in names if name not in tests]
    if untested:
        text = "interval of Krippendorff α above 0"
        if all(map(isnan, untested)):
            text = "Krippendorff α has no interval"
        elif not untested[0] > 0:
            text = "interval of Krippendorff α not above 0"
        facts.append(text)
    return f" ({'; '.join(facts)})"


def _levels(families: Sequence[_Family]) -> list[str]:
    """Say how high α is; of the composite first, behind it by dimension."""
    of = " of the composite" if COMPOSITE in families[0].alphas else ""
    if all(isnan(low) for each in families for low, _ in each.ends.values()):
        text = "; by dimension it is ".join(_values(each.alphas) for each in families)
        rows = [row for each in families for row in each.alphas.values() if not row.reason]
        reasons = dict.fromkeys(str(row.ci_reason) for row in rows if row.ci_reason)
        why = "; ".join(reasons) or "intervals were left out"
        return [f"{_ALPHA}{of} is {text}, but how high it is for other prompts is open: {why}."]
    text = "; by dimension it is ".join(map(_level, families))
    sentence = (
        f"{_ALPHA}{of} is {text} ({TENTATIVE} is usually asked for tentative conclusions from "
        f"single ratings, {RELIABLE} for firm ones)."
    )
    whole, *dimensions = (
        [row.value for row in each.alphas.values() if not row.reason] for each in families
    )
    if any(len(own) > 1 and round(max(own), 2) < round(max(whole), 2) for own in dimensions):
        sentence += f" The composite's is the highest, as {AVERAGED}."
    return [sentence]


def _values(alphas: Mapping[str, Row]) -> str:
    there = {name: row for name, row in alphas.items() if not row.reason}
    least, most = (pick(there, key=lambda name: there[name].value) for pick in (min, max))
    if least == most:
        return figure(there[least])
    return f"from {number(there[least].value)} ({least}) to {number(there[most].value)} ({most})"


def _level(family: _Family) -> str:
    alphas, ends = family.alphas, family.trusted
    there = [name for name, row in alphas.items() if not row.reason]
    without = [name for name in there if isnan(family.ends[name][0])]
    unsure = [name for name in there if alphas[name].caution and name not in without]
    parts = [
        text if len(alphas) == 1 else f"{text}{on_dimensions(names, alphas, 'all dimensions')}"
        for text, names in (
            (f"shown to be at least {RELIABLE}", _in(ends, RELIABLE, 2)),
            (f"shown to be at least {TENTATIVE}", _in(ends, TENTATIVE, RELIABLE)),
            (f"shown to be below {TENTATIVE}", [n for n in ends if ends[n][1] < TENTATIVE]),
            (f"not shown to be below or above {TENTATIVE}", _undecided(ends)),
            (f"undecided about {TENTATIVE}, as {FEW_OFF_AN_END}", unsure),
            ("without an interval", without),
            ("undefined", [name for name in alphas if name not in there]),
        )
        if names
    ]
    between = ", " if len(alphas) == 1 and COMPOSITE in alphas else ": "
    return f"{_values(alphas)}{between}{'; '.join(parts)}"


def _in(ends: _Ends, least: float, most: float) -> list[str]:
    return [name for name, (low, _) in ends.items() if least <= low < most]


def _undecided(ends: _Ends) -> list[str]:
    return [name for name, (low, high) in ends.items() if low < TENTATIVE <= high]


def _to_settle(family: _Family, ratings: Ratings) -> list[str]:
    """Say how many prompts would show on which side of the lower value α lies."""
    alphas, open_ = family.alphas, _undecided(family.trusted)
    what = clusters_of(ratings)
    needed = {}
    for name in open_:
        row = alphas[name]
        # The lower half: the upper one may be cut at 1.
        spread = spread_of(row, row.ci_low, 2 * row.value - row.ci_low)
        needed[name] = assured(
            row.value, spread, row.n_clusters or 0, TENTATIVE, LEVEL / len(alphas)
        )
    if not needed:
        return []
    hardest = max(needed, key=lambda name: (needed[name].needed or inf, -needed[name].limit))
    least = "at least " if alphas[hardest].ci_over == "prompts-and-judges" else ""
    alone = len(alphas) == 1 and hardest != COMPOSITE
    on = "" if alone else on_dimensions([hardest], alphas, "")
    shows = f"show whether α{on} reaches {TENTATIVE}"
    return [would_show(needed[hardest], shows, what, least)]


def _effective_number(
    composite: Sequence[Row], rows: Sequence[Row], group: str, word: str
) -> list[str]:
    """Say how to read the effective number of judges without ratings by others."""
    whole, parts = (
        [row for row in by_dimension(those, group, "effective_judges").values() if not row.reason]
        for those in (composite, rows)
    )
    if not whole and not parts:
        return []
    n_raters = max(row.n_raters for row in (*whole, *parts))
    text = f"{from_to(whole or parts, 1)} of {n_raters:,}"
    if whole:
        text += " on the composite"
        text += f" and {from_to(parts, 1)} by dimension" if parts else ""
    return [
        f"The effective number of {word}s is {text}: the mean of all is as noisy as that of "
        "so many whose ratings are independent. It says nothing of shared errors. "
        f"{WITHOUT_PEOPLE.format(word)}"
    ]


def _limits(ratings: Ratings, group: str) -> list[str]:
    """Say what raters have in common, and agreement may come from."""
    if ratings.personas is None:
        return []
    raters = ratings.raters_by_group()[group]
    models = {ratings.groups[rater] for rater in raters}
    personas = {ratings.personas[rater] for rater in raters}
    if len(models) == 1:
        return ["All judges are of one model: agreement among them may come from it."]
    if len(personas) == 1:
        return ["All judges have one persona: agreement among them may come from it."]
    return []
