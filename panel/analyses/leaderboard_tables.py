"""Tables of a leaderboard: its systems, the differences between them, their means by dimension,
and the strengths of those that judges compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from persona_panel.analyses.methods import alike_remark
from persona_panel.results.conclusions.score import on_coverage
from persona_panel.results.conclusions.wording import SAMPLES
from persona_panel.results.definitions import STRENGTH
from persona_panel.results.table import Column, Key, Table, row_of
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import composite_in_words, share_name
from persona_panel.statistics.core.arrays import Random, Reason
from persona_panel.statistics.core.estimate import LEVEL, Difference, Estimate
from persona_panel.statistics.core.ranking import Leaderboard, SystemDifference, SystemRank

if TYPE_CHECKING:
    from persona_panel.statistics.core.strengths import Strengths

_DIFFERENCES_SHOWN = 6
_NO_COMPOSITE = "no response of this system has a composite"
NO_MEAN = "no judge rated it"
_NO_STRENGTH = "no strengths fit the comparisons"
_NOT_COMPARED = "one of the two has no composite"
_NOT_TESTED = "no difference from another system could be tested"
_OVER: Mapping[Random, str] = {
    "prompts": "prompts",
    "prompts-and-judges": "prompts and judges",
}
_SAME = (
    "Where both intervals are the same, judges add too little to what the prompts leave open; an "
    "interval over prompts and judges is never narrower than that over prompts."
)
_ON_DIFFERENCES = (
    "p: paired t-tests, adjusted by Shaffer's procedure over all pairs; the best system is decided "
    "by its own differences, unadjusted. Effect size: the mean of the prompts' differences, "
    "divided by their standard deviation. Rank intervals, in brackets, hold for all systems at "
    f"once: they leave out a place only where p, adjusted, is below {LEVEL}, so that of the best "
    "system may reach beyond 1. Intervals of differences are not widened for the number of pairs: "
    f"one may leave out 0 where the adjusted p is above {LEVEL}."
)


def labels_of_dimensions(run: Run) -> dict[str, str]:
    """Return what people read in place of the ids of dimensions."""
    return {dimension.id: dimension.label for dimension in run.rubric.dimensions}


def systems_in(run: Run, board: Leaderboard) -> dict[str, SystemRank | None]:
    """Every system with its place, best first, those without one last."""
    ranked: dict[str, SystemRank | None] = {entry.system: entry for entry in board.systems}
    return ranked | {item.system: None for item in run.items if item.system not in ranked}


def board_tables(run: Run, board: Leaderboard, prefix: str = "", by: str = "") -> Iterator[Table]:
    """Yield the tables of a leaderboard.

    Args:
        prefix: of the names of tables and figures.
        by: what is behind their titles: whose leaderboard it is.
    """
    systems = systems_in(run, board)
    remarks = [*filter(None, [composite_in_words(run.rubric)])]
    remarks += [] if prefix else alike_remark(run)
    yield leaderboard_table(board, systems, f"Systems{by}", prefix, remarks)
    yield differences_table(board, list(systems), f"Differences between systems{by}", prefix)
    yield from _means(run, systems, prefix, by)


def leaderboard_table(
    board: Leaderboard,
    systems: Mapping[str, SystemRank | None],
    title: str,
    prefix: str = "",
    remarks: Iterable[str] = (),
) -> Table:
    """Return the systems with rank and composite; `prefix` as for `board_tables`."""
    by_judges = board.random == "prompts-and-judges"
    figure = f"{prefix}composite"
    columns = (
        Column("rank", "estimate", "rank", better="lower", figure=f"{prefix}rank", digits=0),
        Column(
            "composite", "estimate", "composite", better="higher",
            figure="" if by_judges else figure,
        ),
        Column(
            "with_judges", "estimate", "over prompts\nand judges", ends_only=True,
            figure=figure if by_judges else "",
        ),
        Column("n_prompts", "whole", "prompts"),
        Column("declining_mean", "number"),
        Column("n_abstained", "whole"),
        Column("n_judged", "whole"),
        Column("declines", "flag"),
    )  # fmt: skip
    rows = [_system_row(name, entry, board.random) for name, entry in systems.items()]
    declining = [entry for entry in board.systems if entry.declines]
    remarks = [*remarks]
    if declining:
        those = "; ".join(
            f"{entry.system} ({entry.n_abstained:,} of {entry.n_judged:,})" for entry in declining
        )
        remarks.append(f"Not ranked, as more than half of the judgments are abstentions: {those}.")
    if any(row["composite"].interval() == row["with_judges"].interval() != "" for row in rows):
        remarks.append(_SAME)
    remarks += on_coverage({entry.system: entry.composite for entry in board.systems})
    of = Key("system", "system")
    return Table(f"{prefix}systems", (of,), columns, rows, title, chart="composite",
                 remarks=remarks)  # fmt: skip


def _system_row(name: str, entry: SystemRank | None, random: Random) -> dict[str, Any]:
    if entry is None or entry.rank is None:
        declines = entry is not None and entry.declines
        why = str(Reason.DECLINES) if declines else _NO_COMPOSITE
        lacking = dict.fromkeys(("rank", "composite", "with_judges"), Estimate(nan, reason=why))
        if entry is None:
            return {"system": name, **lacking}
        counts = {"n_prompts": entry.n_prompts, "declining_mean": entry.composite.value}
        figures = {**lacking, **counts}
    else:
        n = entry.n_prompts
        rank = Estimate(entry.rank, over=_OVER[random], n=n, reason=_NOT_TESTED)
        if entry.rank_low is not None and entry.rank_high is not None:
            rank = replace(rank, low=entry.rank_low, high=entry.rank_high, reason=None)
        figures = {
            "rank": rank,
            "composite": entry.composite,
            "with_judges": entry.with_judges,
            "n_prompts": n,
        }
    counts = {"n_abstained": entry.n_abstained, "n_judged": entry.n_judged}
    return {"system": name, **figures, **counts, "declines": entry.declines}


def differences_table(
    board: Leaderboard, systems: Sequence[str], title: str, prefix: str = ""
) -> Table:
    """Return how far each two systems differ; in short, those of the first system before the
    others'."""
    of: dict[tuple[str, str], SystemDifference | None] = {
        (entry.a, entry.b): entry for entry in board.differences
    }
    for a, b in combinations(systems, 2):
        if (a, b) not in of and (b, a) not in of:
            of[a, b] = None
    first = board.systems[0].system if board.systems else ""
    tested = sorted(
        (pair for pair, entry in of.items() if entry), key=lambda pair: pair[0] != first
    )
    shown = set(tested[:_DIFFERENCES_SHOWN])
    columns = (
        Column(
            "difference", "estimate", "difference", p="column", figure=f"{prefix}difference",
            p_figure=f"{prefix}p",
        ),
        Column("effect_size", "estimate", "effect\nsize", figure=f"{prefix}effect_size"),
        Column("n_prompts", "whole", "prompts"),
    )  # fmt: skip
    untested = [pair for pair, entry in of.items() if entry is None]
    rows = [
        {**_difference_row(pair, of[pair]), "in_short": pair in shown}
        for pair in [*tested, *untested]
    ]
    return Table(
        f"{prefix}differences", (Key("a", "systems"), Key("b")), columns, rows, title,
        short={"in_short": {True}}, sides=("a", "b"),
        remarks=[f"Differences and ranges of ranks are {SAMPLES[board.random]}. {_ON_DIFFERENCES}"],
    )  # fmt: skip


def _difference_row(pair: tuple[str, str], each: SystemDifference | None) -> dict[str, Any]:
    a, b = pair
    if each is None:
        nothing = Difference(nan, reason=_NOT_COMPARED, a=a, b=b)
        return {"a": a, "b": b, "difference": nothing, "effect_size": nothing}
    effect_size = Difference(each.effect_size, n=each.n, reason=each.reason, a=a, b=b)
    return {"a": a, "b": b, "difference": each, "effect_size": effect_size, "n_prompts": each.n}


def _means(
    run: Run, systems: Mapping[str, SystemRank | None], prefix: str, by: str
) -> Iterator[Table]:
    """Yield means by dimension and shares of categories: in short, then with their intervals."""
    labels, numeric = labels_of_dimensions(run), [item.id for item in run.rubric.numeric]
    title = f"Means by dimension{by}"
    if not prefix:
        heads = {name: labels[name] for name in numeric}
        if heads:
            yield _wide("means", title, systems, heads, "dimension")
        for name, categories in run.categories.items():
            shares = {share_name(name, item): item for item in categories}
            head = f"{labels[name]}: share of each category"
            yield _wide(f"shares_{name}", head, systems, shares, "category")
    control = prefix.replace("_", " ")
    dimension = Key("dimension", "dimension", labels={
        name: f"{control}{label}" for name, label in labels.items()
    })  # fmt: skip
    columns = (
        Column("mean", "estimate", "mean", figure=f"{prefix}{{dimension}}"),
        Column("declining_mean", "number"),
    )
    rows = [
        {"dimension": name, "category": category, "system": system}
        | _mean_row(name if category is None else share_name(name, category), entry)
        for name in run.dimensions
        for category in run.categories.get(name, [None])
        for system, entry in systems.items()
    ]
    of = (dimension, Key("category", "category"), Key("system", "system"))
    of_numbers = {
        f"{row['system']}, {labels[row['dimension']]}": row["mean"]
        for row in rows
        if row["dimension"] in numeric
    }
    remarks = list(on_coverage(of_numbers))
    yield Table(f"{prefix}dimensions", of, columns, rows, title, when="full", remarks=remarks)


def _wide(
    name: str,
    title: str,
    systems: Mapping[str, SystemRank | None],
    heads: Mapping[str, str],
    of: str,
) -> Table:
    """Systems by dimensions; the other way round where that is narrower."""
    ranked = {system: entry for system, entry in systems.items() if entry is not None}
    cells = {
        (system, each): entry.dimensions[each].value if each in entry.dimensions else nan
        for system, entry in ranked.items()
        for each in heads
    }
    if len(ranked) < len(heads):
        key = Key(of, of, labels=heads)
        columns = [Column(f"c{n}", "number", system) for n, system in enumerate(ranked)]
        rows = [
            {of: each} | {f"c{n}": cells[system, each] for n, system in enumerate(ranked)}
            for each in heads
        ]
    else:
        key = Key("system", "system")
        columns = [Column(f"c{n}", "number", head) for n, head in enumerate(heads.values())]
        rows = [
            {"system": system} | {f"c{n}": cells[system, each] for n, each in enumerate(heads)}
            for system in ranked
        ]
    return Table(name, (key,), tuple(columns), rows, title, when="short", programs=False)


def _mean_row(name: str, entry: SystemRank | None) -> dict[str, Any]:
    mean = Estimate(nan) if entry is None else entry.dimensions.get(name, Estimate(nan))
    if entry is not None and entry.declines:
        declining = {"declining_mean": mean.value} if name in entry.dimensions else {}
        return {"mean": Estimate(nan, reason=str(Reason.DECLINES)), **declining}
    return {"mean": Estimate(nan, reason=NO_MEAN) if isnan(mean.value) else mean}


def strengths_tables(strengths: Strengths | None, systems: Sequence[str]) -> Iterator[Table]:
    """Yield the strengths of systems, and their differences for programs."""
    columns: tuple[Column, ...] = (
        Column("strength", "estimate", "strength", better="higher", figure="strength"),
        Column(
            "win_probability",
            "estimate",
            "win\nprobability",
            figure="win_probability",
            definition=f"1 / (1 + exp(−strength)) ({STRENGTH})",
        ),
        Column("n_prompts", "whole", "prompts"),
        Column("n_comparisons", "whole"),
    )
    entries = {} if strengths is None else {each.system: each for each in strengths.systems}
    rows: list[dict[str, Any]] = []
    for system in [*entries, *(name for name in systems if name not in entries)]:
        if (entry := entries.get(system)) is None:
            nothing = Estimate(nan, reason=_NO_STRENGTH)
            rows.append({"system": system, "strength": nothing, "win_probability": nothing})
            continue
        rows.append(row_of(entry, columns, system=system))
    all_have_strengths = all(not isnan(row["strength"].value) for row in rows)
    others = "" if all_have_strengths else " of those that have one"
    remark = (
        f"Strength: log-odds of being preferred; 0 is the mean{others}. Win probability: against a "
        "system of strength 0, a tie counting half. Whether systems differ is tested above."
    )
    yield Table(
        "strengths", (Key("system", "system"),), columns, rows,
        "Strengths of systems (Bradley-Terry)", remarks=[remark],
    )  # fmt: skip
    pairs = {} if strengths is None else {(each.a, each.b): each for each in strengths.differences}
    rows = []
    for a, b in combinations(systems, 2):
        each = pairs.get((a, b)) or pairs.get((b, a))
        if each is None:
            rows.append({"a": a, "b": b, "difference": Difference(nan, reason=_NO_STRENGTH)})
            continue
        rows.append({"a": each.a, "b": each.b, "difference": each})
    column = Column("difference", "estimate", figure="strength_difference", p_figure="strength_p")
    of = (Key("a"), Key("b"))
    yield Table("strength_differences", of, (column,), rows, sides=("a", "b"))
    columns = (Column("ties", "number"), Column("random", "text"))
    known = [] if strengths is None else [row_of(strengths, columns)]
    yield Table("comparisons", (), columns, known)
