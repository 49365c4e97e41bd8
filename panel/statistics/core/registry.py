"""The registry of statistics, and their results as rows with intervals and adjusted p-values.

A statistic is one function that registers itself when it is imported, in the registry's folder or
in another package that names its module under the entry points `persona_panel.statistics`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from math import isnan, nan
from pkgutil import walk_packages
from threading import Lock
from typing import Generic, Literal, Self, TypeVar, get_args
from warnings import warn

from persona_panel.statistics.core.arrays import (
    AnalysisOptions,
    Array,
    EstimateKind,
    Labels,
    MeasurementLevel,
    Reason,
    Resampled,
    Statistic,
    check_choice,
    undefined_everywhere,
)
from persona_panel.statistics.core.jackknife import Interval, jackknife
from persona_panel.statistics.core.means import OverPrompts, resampled_over_prompts
from persona_panel.statistics.core.significance import holm
from persona_panel.statistics.core.table import Row


def mean_over_prompts(
    result: OverPrompts,
    prompts: Labels,
    prompt_kind: str = "prompts",
    *,
    kind: EstimateKind = "mean_correlation",
    limits: tuple[float, float] = (-1.0, 1.0),
) -> Statistic:
    """Return a mean over prompts, with how many `prompt_kind` there were; `kind` and `limits` as
    for `jackknife`."""
    note = f"mean of {len(result.prompts) - result.n_undefined} {prompt_kind}"
    if result.n_undefined:
        note += f", {result.n_undefined} undefined"
    resampled = resampled_over_prompts(result, prompts)
    return replace(result.mean, note=note).with_weights(resampled, kind=kind, limits=limits)


def interval_of(
    statistic: Statistic,
    clusters: Labels,
    options: AnalysisOptions,
    judges: Sequence[Sequence[Resampled | None]] = (),
) -> Interval | None:
    """Return the interval of a statistic over the clusters, one label an item; None where none is
    wanted. `judges` as for `jackknife`."""
    if statistic.ci is not None:
        return statistic.ci if options.intervals else None
    if statistic.resampled is undefined_everywhere or statistic.reason or not options.intervals:
        return None
    return jackknife(
        statistic.resampled, len(clusters), clusters, kind=statistic.kind, limits=statistic.limits,
        judges=judges, counted=statistic.counted, expected=statistic.value,
        seed=options.seed,
    )  # fmt: skip


def rows_of(
    name: str,
    results: Iterable[Statistic],
    group: str,
    dimension: str,
    clusters: Labels,
    options: AnalysisOptions,
    without_judges: Sequence[Sequence[Iterable[Statistic]]] = (),
) -> list[Row]:
    """Return the results of one statistic as rows, each with its interval; `without_judges` are,
    for each factor that judges are sampled from, the results without each of its levels."""
    left_out = [
        [
            {(each.by, each.by_value): None if each.reason else each.resampled for each in those}
            for those in factor
        ]
        for factor in without_judges
    ]  # fmt: skip
    rows = []
    for result in results:
        key = result.by, result.by_value
        judges = [[those.get(key) for those in factor] for factor in left_out]
        interval = interval_of(result, clusters, options, judges)
        row = _row(name, result, group, dimension, interval)
        rows.append(row if isnan(row.ci_low) else replace(row, ci_over=options.random))
    return rows


def adjust_over_dimensions(
    rows: Sequence[Row], composite: Sequence[Row] = (), *, over_strata: bool = False
) -> list[Row]:
    """Adjust p-values by Holm over the dimensions of a statistic and group (and over strata), the
    composite's as a family of their own; those that are adjusted already stay."""
    families: dict[tuple[object, ...], list[int]] = {}
    adjusted = [*composite, *rows]
    of_dimensions = "strata and dimensions" if over_strata else "dimensions"
    for place, row in enumerate(adjusted):
        if not isnan(row.p_value) and row.adjusted_over in (None, "strata", of_dimensions):
            stratum = None if over_strata else row.by_value
            is_composite = place < len(composite)
            family = row.statistic, row.group, row.by, stratum, is_composite
            families.setdefault(family, []).append(place)
    for places in families.values():
        if len(places) < 2:
            continue
        over = "strata" if places[0] < len(composite) else of_dimensions
        for place, p_value in zip(places, holm([adjusted[i].p_raw for i in places]), strict=True):
            adjusted[place] = replace(
                adjusted[place], p_value=float(p_value), n_tests=len(places), adjusted_over=over
            )
    return adjusted


def _row(
    name: str, statistic: Statistic, group: str, dimension: str, interval: Interval | None
) -> Row:
    if interval and not interval.reason and not interval.low <= statistic.value <= interval.high:
        interval = replace(interval, low=nan, high=nan, reason=Reason.NOT_HELD)
    low, high, df, n_clusters = nan, nan, nan, None
    if interval is not None and interval.reason is None:
        low, high, n_clusters = interval.low, interval.high, interval.n_clusters
        # The smaller of the degrees of freedom of its two standard errors: see `reach_of`.
        df = min(interval.degrees_of_freedom, n_clusters - 1)
    adjusted = statistic.adjusted_over is not None
    return Row(
        name, group, dimension, by=statistic.by, by_value=statistic.by_value, value=statistic.value,
        ci_low=low, ci_high=high, ci_reason=interval.reason if interval else None, ci_df=df,
        n_clusters=n_clusters, p_value=statistic.p_value,
        p_raw=statistic.p_raw if adjusted else statistic.p_value,
        n_tests=statistic.n_tests if adjusted else int(not isnan(statistic.p_value)),
        adjusted_over=statistic.adjusted_over, n_items=statistic.n_items,
        n_raters=statistic.n_raters, reason=statistic.reason, note=statistic.note,
        limits=statistic.limits, caution=statistic.caution,
    )  # fmt: skip


ENTRY_POINTS = "persona_panel.statistics"

ANY_LEVEL: tuple[MeasurementLevel, ...] = get_args(MeasurementLevel)
ORDERED: tuple[MeasurementLevel, ...] = ("ordinal", "interval", "ratio")
"""The levels of all ratings but categories."""

_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
LAST = 1000
"""The order of a statistic that asks for none: behind those that do."""

OnStep = Callable[[float], None]
"""Called with the share of an analysis that is done, 1 at its end."""

Need = Literal[
    "prompts", "sources", "same_scale", "groups", "controls", "categories", "incomplete_rankings"
]
"""The data that ratings may lack: prompts, sources of items, one scale for panel and people, raters
of several groups, judges without a persona to compare with, categories in place of numbers, raters
who rated different items of a prompt."""


BlockOf = Literal["dimension", "composite", "all"]
"""The scope of a block of ratings: one dimension; the composite, the mean over several dimensions
on one scale; or all dimensions together, none of which is shown separately."""
OF_SCORES: tuple[BlockOf, ...] = ("dimension", "composite")
"""The scope of the main statistics, those of the short table: each dimension, and the composite."""


@dataclass(frozen=True, slots=True)
class StatisticTable:
    """A table in the terminal. Statistics with equal tables stand in one.

    Attributes:
        columns: what has a column of its own: each `statistic`; each `by_value`; each statistic of
            each `group`; each `dimension`; each `by_value`, with a line for each `by` (`crossed`).
        all_raters_only: whether groups of raters are left out, where there are several.
        remark: what is printed below it.
    """

    title: str
    columns: Literal["statistic", "by_value", "group", "dimension", "crossed", "none"] = "statistic"
    all_raters_only: bool = False
    remark: str = ""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Block:
    """A block of ratings, of which statistics are computed.

    Attributes:
        prompts: an item's prompt; rankings are compared inside it. None: all items are one.
        clusters: what intervals are over, a label an item: its prompt, or itself.
        controls: `(items, replicates)`, ratings by judges without a persona; `(items, 0)` if none.
        categories: the names of the categories whose codes the ratings are, 0, 1, …; none of
            numbers.
        side: whose figures are computed: those of the `panel`, or of the `humans` in its place.
        of: the dimensions that the block covers.
    """

    prompts: list[Hashable] | None
    clusters: list[Hashable]
    options: AnalysisOptions
    controls: Array
    categories: tuple[str, ...] = ()
    side: Literal["panel", "humans"] = "panel"
    of: BlockOf = "dimension"

    @property
    def level(self) -> MeasurementLevel:
        """Return the level at which the block's ratings are measured."""
        return "nominal" if self.categories else self.options.level

    @property
    def needs_met(self) -> set[str]:
        """Return what of `Need` there is."""
        there = {
            "prompts": self.prompts is not None,
            "controls": bool(self.controls.size),
            "categories": bool(self.categories),
        } | self._further()
        return {name for name, here in there.items() if here}

    def _further(self) -> dict[str, bool]:
        return {}

    def without_judges(self) -> Sequence[Sequence[Self]]:
        """Return, for each factor that judges are sampled from, the block without each of its
        levels; empty where judges are taken as they are."""
        return []


BlockT = TypeVar("BlockT", bound=Block)
_Function = Callable[[BlockT], Iterable[Statistic]]


@dataclass(frozen=True, slots=True)
class RegisteredStatistic(Generic[BlockT]):
    """A statistic with what a command has to know to show it; see `Registry.register`."""

    name: str
    heading: str
    function: Callable[[BlockT], Iterable[Statistic]]
    table: StatisticTable
    levels: Collection[MeasurementLevel]
    needs: Collection[str]
    side: str
    of: tuple[BlockOf, ...]
    show_note: bool
    summary: str
    order: int

    def shares_with(self, other: RegisteredStatistic[BlockT]) -> str:
        """Return the name, the column of the short table, or that of a table that it shares with
        another statistic of its registry, which must be unique; empty where nothing is shared."""
        if self.name == other.name:
            return "name"
        if self.summary and self.summary == other.summary:
            return f"summary {self.summary!r}"
        # People have separate lines.
        one_line = "both" in (self.side, other.side) or self.side == other.side
        if one_line and (self.table, self.heading) == (other.table, other.heading):
            return f"heading {self.heading!r} in the table {self.table.title!r}"
        return ""

    def applies(self, block: BlockT) -> bool:
        """Return whether the block has the level of measurement and the data that this statistic
        needs."""
        return (
            block.level in self.levels
            and self.side in (block.side, "both")
            and block.of in self.of
            # Last, and not where nothing is needed: what there is has to be looked for.
            and (not self.needs or set(self.needs) <= block.needs_met)
        )


class Registry(Generic[BlockT]):
    """The statistics of one command, in the order in which it shows them."""

    def __init__(self, folder: str, table: StatisticTable) -> None:
        """Make an empty registry.

        Args:
            folder: a package whose modules register statistics when they are imported.
            table: the table of statistics that name none.
        """
        self._folder = folder
        self._table = table
        self._statistics: dict[str, RegisteredStatistic[BlockT]] = {}
        self._modules: list[str] = []
        self._registering = Lock()

    def register(
        self,
        name: str,
        heading: str,
        *,
        table: StatisticTable | None = None,
        levels: Collection[MeasurementLevel] = ORDERED,
        needs: Collection[str] = (),
        side: Literal["panel", "humans", "both"] = "panel",
        of: tuple[BlockOf, ...] = ("dimension",),
        show_note: bool = False,
        summary: str = "",
        order: int = LAST,
    ) -> Callable[[_Function[BlockT]], _Function[BlockT]]:
        """Return a decorator for the function that computes a statistic from a block of ratings.

        Args:
            name: of its rows; lower case, words joined by underscores.
            heading: of its column in the terminal; a line break parts it.
            table: where it stands.
            levels: of measurement that it suits; at others it is not computed.
            needs: what the ratings must have for it to be computed.
            side: `correlate` only: whether it is of the panel, of the people in its place, or of
                both.
            of: of what it is computed: each `dimension`, the `composite`, or, in `correlate` only,
                `all` dimensions together; `OF_SCORES` is the first two.
            show_note: whether its notes are printed below the table.
            summary: heading of its column in the short table, which has a line a dimension and one
                for the composite, for which `of` has to name it, too.
            order: of rows and columns, smallest first, then by name; by default behind all that say
                one.

        Raises:
            ValueError: another statistic has the name, the summary, or the heading in the same
                table, so that one would hide the other; a name of another form; or there is no such
                level or need.
        """

        if not _NAME.fullmatch(name):
            raise ValueError(
                f"a statistic is called {name!r}; expected lower-case letters and digits, words "
                "joined by underscores, such as 'near_agreement'"
            )
        for need in needs:
            check_choice("what a statistic needs", need, Need)
        for level in levels:
            check_choice("level", level, MeasurementLevel)

        def joined(function: _Function[BlockT]) -> _Function[BlockT]:
            new = RegisteredStatistic(
                name, heading, function, table or self._table, tuple(levels), tuple(needs), side,
                of, show_note, summary, order,
            )  # fmt: skip
            if not function.__module__.startswith("persona_panel."):
                self._import_folder()  # else a name of the folder would fail there, and later
            with self._registering:
                for known in self._statistics.values():
                    if same := new.shares_with(known):
                        raise ValueError(
                            f"the statistic {name!r} of {function.__module__} has the {same} of "
                            f"{known.name!r} of {known.function.__module__}, which would be hidden"
                        )
                self._statistics[name] = new
            return function

        return joined

    def __iter__(self) -> Iterator[RegisteredStatistic[BlockT]]:
        return iter(self._named(None))

    def in_summary(self) -> dict[str, str]:
        """Return the statistics of the short table, by name, with their headings there."""
        return {statistic.name: statistic.summary for statistic in self if statistic.summary}

    def rows_of_all(
        self,
        blocks: Sequence[tuple[BlockT, str, str]],
        on_step: OnStep | None = None,
        only: Collection[str] | None = None,
    ) -> Iterator[list[Row]]:
        """Yield the rows of each block, which stands with its group and dimension."""
        total = len(self._named(only)) * len(blocks)
        for done, (block, group, dimension) in enumerate(blocks):
            rows: list[Row] = []
            for n, statistic_rows in enumerate(
                self._rows(block, group, dimension, only), done * total // len(blocks)
            ):
                rows += statistic_rows
                if on_step is not None:
                    on_step((n + 1) / total)
            yield rows
        if on_step is not None and not total:
            on_step(1.0)

    def results(self, block: BlockT) -> Iterator[tuple[str, Statistic]]:
        """Yield every applicable statistic's name and result for the block as a whole, where it can
        be resampled; a statistic that raises an error is skipped."""
        for statistic in self:
            if statistic.applies(block) and not statistic.table.all_raters_only:
                with suppress(Exception):  # another package's; its rows have the error
                    for result in list(statistic.function(block)):
                        if result.by is None and result.resampled is not undefined_everywhere:
                            yield statistic.name, result

    def _named(self, only: Collection[str] | None) -> list[RegisteredStatistic[BlockT]]:
        """Return the statistics of these names, or all, by their order, then by their names."""
        self._import_folder(only)
        if not self._has(only):
            _import_entry_points()
        # A copy: another thread may register statistics meanwhile.
        every = list(self._statistics.values())
        those = [each for each in every if only is None or each.name in only]
        return sorted(those, key=lambda entry: (entry.order, entry.name))

    def _has(self, only: Collection[str] | None) -> bool:
        return only is not None and self._statistics.keys() >= set(only)

    def _import_folder(self, only: Collection[str] | None = None) -> None:
        """Import modules of the folder until these names are registered, or all."""
        if not self._modules:
            path = import_module(self._folder).__path__
            self._modules = [each.name for each in walk_packages(path, f"{self._folder}.")]
        for module in self._modules:
            # Python's lock of the module makes a thread wait until another has imported it. A lock
            # held here meanwhile could be waited for crosswise with that.
            if not self._has(only) or module in sys.modules:
                import_module(module)

    def _rows(
        self, block: BlockT, group: str, dimension: str, only: Collection[str] | None = None
    ) -> Iterator[list[Row]]:
        """Yield the rows of each statistic; an empty list where it does not apply."""
        without = block.without_judges()
        for statistic in self._named(only):
            if not statistic.applies(block):
                yield []
                continue
            try:
                rows = rows_of(
                    statistic.name, statistic.function(block), group, dimension, block.clusters,
                    block.options,
                    [[statistic.function(left) for left in factor] for factor in without],
                )  # fmt: skip
            except Exception as error:  # another package's statistic must not end the command
                note = f"{type(error).__name__}: {error}"
                failed = replace(Statistic.undefined(Reason.ERROR), note=note)
                rows = rows_of(
                    statistic.name, [failed], group, dimension, block.clusters, block.options
                )
            yield rows


@cache
def _import_entry_points() -> None:
    for point in entry_points(group=ENTRY_POINTS):
        try:
            point.load()
        except Exception as error:  # the statistics of other packages are still there
            warn(
                f"the statistics of {point.value} (entry point {point.name!r}) cannot be loaded: "
                f"{type(error).__name__}: {error}",
                stacklevel=2,
            )
