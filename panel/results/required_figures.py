"""Figures of any result by their names, and the one that a requirement names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from heapq import nlargest
from math import inf, isclose, isinf, isnan, nan
from typing import Any

from persona_panel.results.conclusions.wording import counted
from persona_panel.results.requirement import (
    Requirement,
    WrongRequirement,
    same_name,
    written,
)
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Table
from persona_panel.statistics.core.estimate import LEVEL, Difference, Estimate
from persona_panel.statistics.core.means import critical_t
from persona_panel.statistics.core.sampled_mean import SampledMean

_NAMES_SHOWN = 6
_WITH_EPSILON = ("omega", "rho", "alt_test_winning_rate", "alt_test_advantage")
_OF_COMMANDS = {
    "`people calibrate`, or `score` or `report` with --human, which have it": (
        "corrected", "corrected_difference", "corrected_p", "human_only",
    ),
    "`people align`, which has it": ("alignment", "alignment_p", "rmse_change"),
    "`people fidelity`, which has it": (
        "fidelity", "fidelity_ratio", "human_difference", "panel_difference",
    ),
    "`people votes`, which has it": ("votes", "votes_difference", "nearer_to_people"),
    "`rasch`, which has it": (
        "system_logits", "logits_difference", "judge_severity", "infit", "outfit",
    ),
    "`robustness`, which has it": ("analyses_ahead", "analyses_significant"),
    "`contested`, which has it": ("contested_responses", "spread"),
    "`sweep`, which has it": ("delta", "gap", "gap_p", "large_falls"),
    "`audit injection`, which has it": ("uplift", "vulnerable"),
    "`batch status`, which has it": ("open_batches",),
}  # fmt: skip
"""Figures that a command may be asked for which does not have them, by the commands that do."""
_COMPARED = 300
"""Of more names those are compared letter by letter that have the most letters in common."""


@dataclass(frozen=True, slots=True)
class FigureKey:
    """A part of what a figure is of: a system, a dimension, ….

    `label` is another name for it. What `may_be_left_out` is what is meant where several figures
    are there: all dimensions, all raters.
    """

    name: str
    label: str = ""
    may_be_left_out: bool = False

    def is_called(self, name: str) -> bool:
        """Return whether this is its name or its label."""
        return same_name(name) in (same_name(self.name), same_name(self.label))


@dataclass(frozen=True, slots=True)
class OpenKey(FigureKey):
    """A part whose name is not known yet: one of some, or any where there are none."""

    among: Sequence[str] = ()

    def is_called(self, name: str) -> bool:
        """Return whether this may be its name."""
        return not self.among or same_name(name) in map(same_name, self.among)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that a requirement may name.

    Attributes:
        name, label: what it is; two names of the same.
        keys: what it is of.
        value: NaN where it is undefined; `reason` says why.
        low, high: its interval, NaN where there is none; `reason` says why.
        over: what the interval is over, such as `prompts`.
        limits: the ends of the scale that it lies on; infinite where it has none.
        range: between which a statistic lies.
        is_exact: whether it is known without error, as a count is: it is then decided by its value.
        is_whole: whether it is a whole number, as a rank is.
        n_prompts: how many prompts (or items, see `of_items`) an interval rests on.
        df: degrees of freedom of Student's t, of which the interval is; NaN where it is no such
            interval, or `sampled` is known.
        sampled: the mean over prompts that it is, where it is one that is known.
        detail: what else is to be said of it, such as `39 of 40 judgments`.
        word, words: of a figure that is a word, such as a verdict: which, and which there are.
        level: the confidence of the interval.
        caution: what is said beside a requirement on it.
        uncertain: why its interval decides nothing; empty where it does.
        contradicted: why no requirement on it is met; empty where its value decides.
    """

    name: str
    keys: tuple[FigureKey, ...] = ()
    label: str = ""
    value: float = nan
    low: float = nan
    high: float = nan
    over: str = ""
    limits: tuple[float, float] = (-inf, inf)
    range: tuple[float, float] = (-inf, inf)
    is_exact: bool = False
    is_whole: bool = False
    reason: str | None = None
    n_prompts: int | None = None
    of_items: bool = False
    df: float = nan
    sampled: SampledMean | None = None
    detail: str = ""
    word: str = ""
    words: tuple[str, ...] = ()
    level: float = 0.95
    caution: str = ""
    uncertain: str = ""
    contradicted: str = ""

    @property
    def has_interval(self) -> bool:
        """Return whether there is an interval."""
        return not isnan(self.low)

    def at(self, level: float) -> Figure:
        """Return the figure with its interval at this level of confidence; without one where it is
        no Student's around the value, which alone is known at other levels."""
        if level == self.level or not self.has_interval:
            return self
        least, most = self.limits
        below, above = self.value - self.low, self.high - self.value
        if self.sampled is not None and self.sampled.errors:
            low, high = self.sampled.interval(level)
        elif not isnan(self.df) and (
            isclose(below, above) or least == self.low or self.high == most
        ):
            reach = max(below, above) * critical_t(self.df, level) / critical_t(self.df, self.level)
            low, high = self.value - reach, self.value + reach
        elif level < self.level:
            # The wider interval that is known decides: what it shows, the narrower one would.
            return self
        else:
            why = f"its interval is known at {100 * self.level:g} % alone"
            return replace(self, low=nan, high=nan, reason=why)
        return replace(self, low=max(low, least), high=min(high, most), level=level)

    def __str__(self) -> str:
        """Return it as a requirement names it."""
        keys = tuple(key.name for key in self.keys if not key.may_be_left_out)
        return written(self.name, keys)


def exact(
    name: str,
    value: float | None,
    detail: str = "",
    keys: tuple[FigureKey, ...] = (),
    *,
    reason: str = "it is not known",
) -> Figure:
    """A figure that is known without error; `reason` where the value is None or NaN."""
    known = nan if value is None else float(value)
    why = reason if isnan(known) else None
    return Figure(name, keys, value=known, is_exact=True, detail=detail, reason=why)


def find(requirement: Requirement, figures: Sequence[Figure]) -> Figure:
    """The figure that a requirement names.

    Its keys are some of the figure's, in their order. Of several such figures it is the one with
    the fewest further keys, those not counted that may be left out. A name goes before a label.

    Raises:
        WrongRequirement: there is none, or more than one; names those that are there; or the bound
            lies beyond the range of a share or a coefficient, as a percentage does.
    """
    figure = _called(requirement, figures)
    if bool(requirement.word) != bool(figure.words):
        expected = f"== or != and one of {', '.join(figure.words)}" if figure.words else "a number"
        raise WrongRequirement(f"{requirement.comparison} behind {figure}", expected)
    if requirement.word and requirement.word not in figure.words:
        raise WrongRequirement(repr(requirement.word), _nearest(requirement.word, figure.words))
    least, most = figure.limits if isinf(figure.range[1]) else figure.range
    # Other ends may be of these data: of ranks, the number of judges, the least α.
    least = least if least in (-1, 0) else -inf
    if most == 1 and not least <= requirement.bound <= most:
        expected = f"a number {'up to' if isinf(least) else f'from {least:g} to'} 1"
        if 1 < requirement.bound <= 100:
            expected += f": {requirement.bound:g} % is {requirement.bound / 100:g}"
        raise WrongRequirement(f"{requirement.bound:g} as a bound of {figure}", expected)
    return figure


def _called(requirement: Requirement, figures: Sequence[Figure]) -> Figure:
    name = same_name(requirement.name)
    called = [figure for figure in figures if same_name(figure.name) == name]
    by_label = not called
    if by_label:
        called = [figure for figure in figures if figure.label and same_name(figure.label) == name]
    if not called:
        known = dict.fromkeys(figure.name for figure in figures)
        expected = f"{_where_it_is(name)}{_nearest(name, list(known))}"
        raise WrongRequirement(f"the figure {requirement.name!r}", expected)
    fitting = [figure for figure in called if _fits(requirement.keys, figure.keys) is not None]
    asked = written(requirement.name, requirement.keys)
    if not fitting:
        # In another order, perhaps.
        near = [figure for figure in called if _has_all(requirement.keys, figure)] or called
        names = _names_of(near, by_label, len(requirement.keys))
        raise WrongRequirement(asked, _nearest(asked, names))
    if len(fitting) > 1:
        further = [_n_further(requirement.keys, figure) for figure in fitting]
        nearest = [figure for figure, n in zip(fitting, further, strict=True) if n == min(further)]
        if len(nearest) > 1:
            clash = f"{asked}, which is the name of {len(nearest):,} figures"
            raise WrongRequirement(clash, _nearest(asked, _names_of(nearest, by_label)))
        return nearest[0]
    return fitting[0]


def _where_it_is(name: str) -> str:
    """Return which command has a figure, before the nearest names; empty where none is known to."""
    # Most requirements name a figure that is there.
    from persona_panel.statistics.agreement import agreement_statistics
    from persona_panel.statistics.comparison import comparison_statistics

    if name in _WITH_EPSILON:
        return (
            "--epsilon, with which `people correlate` has the alternative annotator test (`report` "
            "has it with --human), or "
        )
    for command, names in (
        *_OF_COMMANDS.items(),
        ("`agree`, which has it", [each.name for each in agreement_statistics]),
        ("`people correlate`, which has it", [each.name for each in comparison_statistics]),
    ):
        if name in names:
            return f"{command}, or "
    return ""


def _fits(names: Sequence[str], keys: Sequence[FigureKey]) -> list[int] | None:
    """The places of the keys that have these names, in this order; None where they are not."""
    places: list[int] = []
    for name in names:
        start = places[-1] + 1 if places else 0
        place = next((at for at in range(start, len(keys)) if keys[at].is_called(name)), None)
        if place is None:
            return None
        places.append(place)
    return places


def _has_all(names: Sequence[str], figure: Figure) -> bool:
    return all(any(key.is_called(name) for key in figure.keys) for name in names)


def _n_further(names: Sequence[str], figure: Figure) -> int:
    """Return how many keys are not named and may not be left out."""
    named = _fits(names, figure.keys) or []
    return sum(not key.may_be_left_out for at, key in enumerate(figure.keys) if at not in named)


def _names_of(figures: Sequence[Figure], by_label: bool, n_keys: int = 0) -> list[str]:
    """Return names or labels, in full where a shorter one is ambiguous or has too few keys."""
    if by_label:
        figures = [replace(figure, name=figure.label) for figure in figures]
    short = [str(figure) for figure in figures]
    counts = Counter(short)

    def is_whole(figure: Figure, name: str) -> bool:
        return counts[name] == 1 and sum(not key.may_be_left_out for key in figure.keys) >= n_keys

    return [
        name
        if is_whole(figure, name)
        else written(figure.name, tuple(key.name for key in figure.keys))
        for figure, name in zip(figures, short, strict=True)
    ]


def _nearest(asked: str, names: Iterable[str]) -> str:
    """The names that there are, the nearest first, of many the nearest alone."""
    there = list(dict.fromkeys(names))
    matcher = SequenceMatcher(b=asked.lower(), autojunk=False)

    def likeness(name: str) -> float:
        matcher.set_seq1(name.lower())
        return matcher.ratio()

    def rough_likeness(name: str) -> float:
        matcher.set_seq1(name.lower())
        return matcher.quick_ratio()

    if len(there) == 1:
        return there[0]
    # A run may have as many names as responses.
    near = there if len(there) <= _COMPARED else nlargest(_COMPARED, there, key=rough_likeness)
    shown = "; ".join(sorted(near, key=likeness, reverse=True)[:_NAMES_SHOWN])
    more = len(there) - _NAMES_SHOWN
    return f"one of {shown}" + (f"; … ({len(there):,} in all)" if more > 0 else "")


NO_INTERVAL = "no interval of it is computed"
NOT_COMPUTED = "it is not computed"


def result_figures(result: Result) -> list[Figure]:
    """Return every figure of the tables for programs whose column has a name for it; differences
    from either side."""
    return [
        figure
        for table in result.tables
        if table.programs
        for row in table.rows
        for each in _turned(table, row)
        for column in table.columns
        for figure in _of_cell(table, column, each)
    ]


def _turned(table: Table, row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield row
    if table.sides is not None:
        a, b = table.sides
        differences = {k: -cell for k, cell in row.items() if isinstance(cell, Difference)}
        yield {**row, **differences, a: row[b], b: row[a]}


def _of_cell(table: Table, column: Column, row: Mapping[str, Any]) -> Iterator[Figure]:
    cell = row.get(column.name)
    if cell is None:
        return
    if column.figure:
        about = _about(table, column.figure, row)
        yield (
            _of_estimate(about, column, cell)
            if isinstance(cell, Estimate)
            else _of_plain(about, column, cell, row)
        )
    if column.p_figure and not (isnan(cell.least_p) and cell.reason is None):
        about = _about(table, column.p_figure, row)
        detail = "" if isnan(cell.p_adjusted) else "adjusted"
        why = str(cell.reason or NOT_COMPUTED)
        p = exact(about.name, cell.least_p, detail, about.keys, reason=why)
        yield replace(p, caution=about.caution, contradicted=about.contradicted, limits=(0.0, 1.0))


def _about(table: Table, name: str, row: Mapping[str, Any]) -> Figure:
    """Name, label and keys of a figure; a key within the name is none of the figure's."""
    inside = [key for key in table.keys if f"{{{key.name}}}" in name]
    return Figure(
        name.format_map(row) if inside else name,
        tuple(
            FigureKey(str(row[key.name]), key.labels.get(row[key.name], ""),
                      row[key.name] in key.optional)
            for key in table.keys
            if key not in inside and row.get(key.name) is not None
        ),
        next((key.labels.get(row[key.name], "") for key in inside), ""),
        caution=table.caution,
        contradicted=row.get("contradicted") or "",
        range=row.get("range", (-inf, inf)),
    )  # fmt: skip


def _of_estimate(about: Figure, column: Column, cell: Estimate) -> Figure:
    lacks = isnan(cell.value) or (not cell.has_interval and not cell.exact)
    return replace(
        about,
        value=cell.value,
        low=cell.low,
        high=cell.high,
        level=cell.level,
        over=f"over {cell.over}" if cell.over else "",
        limits=cell.limits,
        is_exact=cell.exact,
        is_whole=column.digits == 0,
        reason=str(cell.reason or NO_INTERVAL) if lacks else None,
        n_prompts=cell.n,
        of_items=cell.over.startswith("items"),
        df=cell.df,
        sampled=cell.sampled,
        detail=cell.detail or _not_established(cell),
        uncertain=cell.caution,
    )


def _not_established(cell: Estimate) -> str:
    """Say that a difference whose own interval leaves 0 out is none after adjustment."""
    if not isinstance(cell, Difference) or not cell.sign or not cell.p_adjusted >= LEVEL:
        return ""
    n = "" if cell.n is None else f"{counted(cell.n, cell.over.split()[0].removesuffix('s'))}; "
    return (
        f"{n}after adjustment for the number of pairs a difference is not significant, "
        f"{cell.p_text()}"
    )


def _of_plain(about: Figure, column: Column, cell: Any, row: Mapping[str, Any]) -> Figure:
    if column.words:
        why = str(row.get("reason") or "")
        return replace(about, word=str(cell), words=column.words, detail=why)
    if column.kind == "number":
        why = NOT_COMPUTED if isnan(cell) else NO_INTERVAL
        return replace(about, value=float(cell), reason=why)
    return exact(about.name, float(cell), "", about.keys, reason=NOT_COMPUTED)
