"""Whether 95 % intervals hold the true value in 95 % of the cases, and claims are false in 5 %.

    nice -n 15 python -m benchmarks.coverage                        everything (hours)
    python -m benchmarks.coverage leaderboard --scale 0.2           a fifth of the simulations
    python -m benchmarks.coverage agree --prompts 5 12 --judges fixed --data plain
    python -m benchmarks.coverage agree --figures icc2 mean_tau_b   these two alone, faster

For each number of prompts, with judges fixed or drawn anew in each simulation (`crossed`: personas
through models, both drawn), and with plain ratings, with few values and gaps or, of `agree`,
`correlate` and `labels`, with most responses to one prompt (`--data uneven`; of the first two also
`once`: all but ten of these were rated by one judge alone), every interval that is printed is
computed on simulated ratings by the functions that print it. `covered` is the share of the printed
ones that hold the true value (the mean of many large simulations), with its Monte Carlo standard
error; what was refused is counted beside it. A figure outside of 93 to 97 % by more than two of its
standard errors is marked. `within` draws from prompts whose own figures are known.
`null`: the share of boards of equal systems with a winner, with two systems that differ or with two
ranges of ranks that do not overlap, and of sweeps without an effect that show one; above 5 % by two
errors is marked.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import astuple
from functools import cache
from itertools import product

import numpy as np

from benchmarks.coverage_data import Cell, Found, Judges, of_rows, rated, split_sides
from benchmarks.coverage_families import FAMILIES, RATERS
from benchmarks.harness import add_parts, simulated_cells, simulation_parser
from persona_panel.experiments.sweep.deltas import Names, measure
from persona_panel.statistics import AnalysisOptions, correlate
from persona_panel.statistics.agreement import AgreementBlock, agreement_statistics
from persona_panel.statistics.comparison import comparison_statistics
from persona_panel.statistics.core.arrays import Array, items_by_label, resampled_mean, row_means
from persona_panel.statistics.core.correlation import CorrelationKind, correlation_test
from persona_panel.statistics.core.jackknife import jackknife
from persona_panel.statistics.core.ranking import rank_systems
from persona_panel.statistics.core.sampled_mean import JudgeSample
from persona_panel.statistics.scores import pairwise_error

PROMPTS = (3, 5, 8, 12, 30, 100)
NULL_PROMPTS = (3, 5, 12, 30)
SYSTEMS, SYSTEMS_OF_FEW, FEW_PROMPTS = 4, 8, 3
"""Responses to a prompt; more of them at so few prompts that there would be too few items."""
PANEL, HUMANS, SIMULATIONS = 5, 5, 1_000
JUDGES = RATERS | {"leaderboard": 10, "agree": 5, "correlate": PANEL + HUMANS, "sweep": 1}
LARGE_PROMPTS, LARGE_DRAWS = 100, 60
LARGE_OF = {"bias": (2_000, 30)}
"""Of parts with figures that are lower, or higher, on average the fewer the prompts: of 100 prompts
one judge's entropy is 0.01 to 0.02 bits too low, a third of its standard error there."""
DRAWN_FROM = 3_000
_WITHIN: tuple[CorrelationKind, ...] = "tau_b", "spearman", "pearson"
_SHUFFLES = 199
LOWEST, HIGHEST, NULL = 0.93, 0.97, 0.05
LEAST_PRINTED = 30


def _leaderboard(rng: np.random.Generator, cell: Cell, judges: Judges, intervals: bool) -> Found:
    ratings = rated(rng, cell.prompts, judges, cell.data)
    sample = JudgeSample(ratings.scores, {"rater": ratings.raters})
    composites = np.nanmean(ratings.scores[:, :, 0], axis=1)
    board = rank_systems(
        ratings.sources or (),
        ratings.prompts or (),
        composites,
        np.empty((len(composites), 0)),
        [],
        judges=sample,
        random=cell.random,
    )
    first = next(entry for entry in board.systems if entry.system == "s0")
    fixed = cell.judges == "fixed"
    ends = (first.composite if fixed else first.with_judges).ends
    one = next(one for one in board.differences if {one.a, one.b} == {"s0", "s1"})
    sign = 1 if one.a == "s0" else -1
    low, high = sorted((sign * one.low, sign * one.high))
    return {
        "composite": (first.composite.value, *ends),
        "difference": (sign * one.value, low, high),
    }


def _agree(rng: np.random.Generator, cell: Cell, judges: Judges, intervals: bool) -> Found:
    ratings = rated(rng, cell.prompts, judges, cell.data)
    options = AnalysisOptions(random=cell.random, intervals=intervals, n_permutations=0)
    prompts: list[Hashable] = list(ratings.prompts or ())
    block = AgreementBlock(
        ratings=ratings.scores[:, :, 0], sign=1, prompts=prompts, clusters=prompts, options=options,
        controls=np.empty((len(prompts), 0)), raters=ratings.raters, judge_factors=judges.factors,
    )  # fmt: skip
    return of_rows(next(agreement_statistics.rows_of_all([(block, "all", "quality")])))


def _correlate(rng: np.random.Generator, cell: Cell, judges: Judges, intervals: bool) -> Found:
    everyone = rated(rng, cell.prompts, judges, cell.data)
    sides = split_sides(everyone, PANEL)
    options = AnalysisOptions(intervals=intervals, n_permutations=0, min_shared=2)
    rows = correlate(*sides, options)
    # Added raters have a bootstrap of their own, and no interval from here.
    return {
        f"{row.group} {name}": found
        for row in rows
        if row.statistic != "alpha_added"
        for name, found in of_rows([row]).items()
    }


def _sweep(rng: np.random.Generator, cell: Cell, judges: Judges, intervals: bool) -> Found:
    """Δ of one condition: whole steps with a few large falls, as framings bring them."""
    falls = np.where(rng.random(cell.prompts) < 0.2, rng.normal(3, 1, cell.prompts), 0)
    delta = np.round(rng.normal(0, 1, cell.prompts) + falls)
    none = np.zeros((1, cell.prompts, 1), dtype=np.intp)
    names = Names(("s",), tuple(map(str, range(cell.prompts))), ("c",), ("d",))
    found = measure(delta.reshape(1, -1, 1, 1), names, none, none).cells[0].delta
    return {"delta": (found.value, found.ci_low, found.ci_high)}


_PARTS: dict[str, Callable[[np.random.Generator, Cell, Judges, bool], Found]] = {
    "leaderboard": _leaderboard,
    "agree": _agree,
    "correlate": _correlate,
    "sweep": _sweep,
} | FAMILIES


def _judges(cell: Cell, rng: np.random.Generator | None = None) -> Judges:
    """The same judges each time, or others drawn."""
    rng = np.random.default_rng(1) if rng is None else rng
    if cell.judges == "crossed":
        return Judges.crossed(rng, cell.systems)
    return Judges.drawn(rng, JUDGES[cell.part], cell.systems)


def covered(cell: Cell) -> list[dict[str, object]]:
    """Each figure's coverage in a cell."""
    truth = _truth(cell.part, cell.judges, cell.data, cell.systems)
    rng = np.random.default_rng([3, cell.prompts])
    hits: dict[str, int] = defaultdict(int)
    printed: dict[str, int] = defaultdict(int)
    for _ in range(cell.simulations):
        judges = _judges(cell, None if cell.judges == "fixed" else rng)
        for name, (_value, low, high) in _PARTS[cell.part](rng, cell, judges, True).items():
            if not math.isnan(low):
                printed[name] += 1
                hits[name] += low <= truth[name] <= high
    return [_figure(cell, name, hits[name], printed[name]) for name in truth]


@cache
def _truth(part: str, judges: str, data: str, systems: int) -> dict[str, float]:
    """The mean of each figure over many simulations with many prompts."""
    prompts, draws = LARGE_OF.get(part, (LARGE_PROMPTS, LARGE_DRAWS))
    large = Cell(part, prompts, judges, data, 0, systems)
    sampled = judges != "fixed"
    rng = np.random.default_rng(2)
    values: dict[str, list[float]] = defaultdict(list)
    for _ in range(draws * (5 if sampled else 1)):
        drawn = _judges(large, rng if sampled else None)
        for name, found in _PARTS[part](rng, large, drawn, False).items():
            values[name].append(found[0])
    return {name: float(np.mean(those)) for name, those in values.items()}


def within(cell: Cell) -> list[dict[str, object]]:
    """Coverage of correlations within prompts, and of means over prompts of what is measured inside
    each: of many prompts, of which each simulation draws some."""
    judges = _judges(Cell("correlate", *astuple(cell)[1:]))
    ratings = rated(np.random.default_rng(5), DRAWN_FROM, judges, cell.data)
    sides = np.split(ratings.scores[:, :, 0], [PANEL], axis=1)
    panel, humans = map(row_means, sides)
    prompts = ratings.prompts or ()
    figures = [_inverted(cell, kind, panel, humans, prompts) for kind in _WITHIN]
    labels = np.arange(cell.prompts).repeat(cell.systems)
    for weighted in (False, True):
        loss = pairwise_error(humans, panel, prompts, weighted=weighted).by_position
        values = np.array([one.value for one in loss.values if one.reason is None])
        rng = np.random.default_rng([6, cell.prompts])
        hits, printed = 0, 0
        for _ in range(cell.simulations):
            drawn = rng.choice(values, cell.prompts)
            interval = jackknife(resampled_mean(drawn[labels]), len(labels), labels, kind="share")
            printed += interval.reason is None
            hits += interval.low <= values.mean() <= interval.high
        figures.append(_figure(cell, "weighted " * weighted + "pairwise error", hits, printed))
    return figures


def _inverted(
    cell: Cell, kind: CorrelationKind, panel: Array, humans: Array, prompts: Sequence[Hashable]
) -> dict[str, object]:
    truth = correlation_test(panel, humans, kind, prompts, n_permutations=0).value
    places = [items for _, items in items_by_label(prompts, len(panel))]
    rng, hits, printed = np.random.default_rng([6, cell.prompts]), 0, 0
    for _ in range(cell.simulations):
        own = [places[place] for place in rng.integers(len(places), size=cell.prompts)]
        labels = np.arange(cell.prompts).repeat([len(items) for items in own]).tolist()
        sides = panel[np.concatenate(own)], humans[np.concatenate(own)]
        found = correlation_test(*sides, kind, labels, n_permutations=_SHUFFLES)
        if found.ci is not None and found.ci.reason is None:
            printed += 1
            hits += found.ci.low <= truth <= found.ci.high
    return _figure(cell, kind, hits, printed)


def _figure(cell: Cell, name: str, hits: int, printed: int) -> dict[str, object]:
    share = hits / printed if printed else math.nan
    error = math.sqrt(max(share * (1 - share), 0.01) / printed) if printed else math.nan
    # Of a few printed ones nothing can be said.
    holds = printed < LEAST_PRINTED or LOWEST - 2 * error <= share <= HIGHEST + 2 * error
    return {
        "part": cell.part, "figure": name, "prompts": cell.prompts, "judges": cell.judges,
        "data": cell.data, "covered": share, "error": error, "printed": printed,
        "refused": cell.simulations - printed, "holds": holds,
    }  # fmt: skip


def null(cell: Cell) -> list[dict[str, object]]:
    """How often equal systems are distinguished, and a sweep without an effect shows one."""
    rng = np.random.default_rng([4, cell.prompts])
    claims = dict.fromkeys(
        ("a winner", "two that differ", "ranges of ranks apart", "a cell of a sweep"), 0
    )
    for _ in range(cell.simulations):
        scores = np.round(
            rng.normal(6, 1, (cell.prompts, 1)) + rng.normal(0, 1, (cell.prompts, 8)), 1
        )
        names = [f"s{s}" for s in range(8)] * cell.prompts
        prompts = [f"p{p}" for p in range(cell.prompts) for _ in range(8)]
        board = rank_systems(names, prompts, scores.ravel(), np.empty((scores.size, 0)), [])
        ranges = [(one.rank_low or 1, one.rank_high or 8) for one in board.systems]
        claims["a winner"] += board.winner is not None
        claims["two that differ"] += any(one.shown for one in board.differences)
        apart = max(low for low, _ in ranges) > min(high for _, high in ranges)
        claims["ranges of ranks apart"] += apart
        delta = np.round(rng.normal(0, 1, (1, cell.prompts, 4, 3)))
        names_of = Names(("s",), tuple(map(str, range(cell.prompts))), tuple("abcd"), tuple("xyz"))
        none = np.zeros(delta.shape[:3], dtype=np.intp)
        cells = measure(delta, names_of, none, none).cells
        claims["a cell of a sweep"] += any(one.delta.shown for one in cells)
    figures = []
    for name, n in claims.items():
        error = math.sqrt(max(n / cell.simulations, 0.01) / cell.simulations)
        share = n / cell.simulations
        figures.append({
            "part": "null", "figure": name, "prompts": cell.prompts, "judges": cell.judges,
            "data": cell.data, "covered": share, "error": error, "printed": cell.simulations,
            "refused": 0, "holds": share <= NULL + 2 * error,
        })  # fmt: skip
    return figures


def responses_to(prompts: int) -> int:
    return SYSTEMS_OF_FEW if prompts <= FEW_PROMPTS else SYSTEMS


def keep_statistics(names: Collection[str]) -> None:
    """Has `agree` and `correlate` compute these statistics alone."""
    for registry in (agreement_statistics, comparison_statistics):
        for one in list(registry):
            if one.name not in names:
                del registry._statistics[one.name]


def _run(cell: Cell) -> list[dict[str, object]]:
    whole = {"null": null, "within": within}
    return whole.get(cell.part, covered)(cell)


def main() -> int:
    parser = simulation_parser(__doc__, SIMULATIONS, jobs=True)
    add_parts(parser, (*_PARTS, "within", "null"))
    parser.add_argument("--prompts", nargs="+", type=int, default=None)
    parser.add_argument(
        "--judges", nargs="+", choices=["fixed", "sampled", "crossed"], default=None
    )
    parser.add_argument(
        "--data", nargs="+", choices=["plain", "gaps", "uneven", "once"], default=["plain", "gaps"]
    )
    parser.add_argument("--figures", nargs="+", metavar="NAME", help="statistics; all by default")
    parser.add_argument("--responses", type=int, metavar="N", help="to a prompt")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.figures:
        # The rest is not computed, which is most of the time that a simulation takes.
        keep_statistics(options.figures)
    cells = []
    for part in options.parts:
        both = ["fixed", "sampled"] if part in ("leaderboard", "agree", "labels") else ["fixed"]
        both += ["crossed"] if part == "agree" else []
        kinds = [kind for kind in options.judges or both if kind in both]
        data = ["plain"] if part in ("sweep", "null") else options.data
        sizes = options.prompts or (NULL_PROMPTS if part == "null" else PROMPTS)
        cells += [
            Cell(part, n, *rest, options.simulations, options.responses or responses_to(n))
            for n, *rest in product(sizes, kinds, data)
        ]
    figures: list[dict[str, object]] = []
    for cell, found in simulated_cells(_run, cells, options.jobs):
        print(f"{time.strftime('%H:%M:%S')} {cell}", file=sys.stderr, flush=True)
        figures += found
        if not options.json:
            _show(found)
    if options.json:
        print(json.dumps(figures))
    missed = [figure for figure in figures if not figure["holds"]]
    print(f"{len(missed)} of {len(figures)} figures are outside", file=sys.stderr)
    return 1 if missed else 0


def _show(figures: Sequence[dict[str, object]]) -> None:
    for one in figures:
        mark = "" if one["holds"] else "  <- outside"
        print(
            f"{one['part']:12} {one['figure']:38} {one['prompts']:>4} {one['judges']:8} "
            f"{one['data']:6} {one['covered']:.3f} +- {one['error']:.3f} "
            f"({one['refused']} refused){mark}",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
