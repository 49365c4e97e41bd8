"""How often a bad system meets a requirement.

    python -m benchmarks.null_gate [--runs 1000] [--prompts 3,5,8,12,30] [--only KIND]

Each requirement has as its bound what the figure is in truth, the worst case of all in which it
is not to be met: `composite[a] >= 4.21` where a's composite over all such prompts is 4.21. Judges
rate in whole numbers; prompts differ, systems are easier or harder on some. `ties`: on a scale from
1 to 5, half of the judgments equal to those of the other system. `gaps`: a quarter of the
judgments missing. `ceiling`: most ratings are the highest one. `collapses`: one response in ten
gets the lowest rating from every judge. `several`: five requirements at once, all of them on their
bound, and one of them on its bound with four that are plainly met. `sweep`: Δ, and the share of
large falls, of a cell in which b answers as a does under pressure. Prints the share of runs in
which all requirements are met: 5 % or less is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from benchmarks.shares import Event, print_shares
from persona_panel.experiments.sweep.deltas import Names, measure
from persona_panel.experiments.sweep.sweep_result import cells_table
from persona_panel.files.responses import Item
from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.aggregate import aggregate
from persona_panel.reports.check import check
from persona_panel.results.decision import decide_all, parsed
from persona_panel.results.required_figures import result_figures
from persona_panel.results.result import Result
from persona_panel.rubrics import Dimension, Rubric, Scale
from persona_panel.runs.run import Run
from persona_panel.statistics import AnalysisOptions, Ratings, agree, correlate
from persona_panel.statistics.core.arrays import Array, row_means

SYSTEMS = ("a", "b", "c")
_JUDGES = 5
_MANY = 200_000
_Draw = Callable[[np.random.Generator, int], Array]


def rubric(low: int, high: int) -> Rubric:
    scale = Scale(min=low, max=high, low="poor", high="good")
    words = {"definition": "How good it is.", "guiding_question": "Is it good?"}
    quality = Dimension(id="quality", label="Quality", scale=scale, **words)
    return Rubric(id="simulated", label="Simulated", question="Is it?", dimensions=(quality,))


def run_of(scores: Array, scale: tuple[int, int]) -> Run:
    """A run of scores `(prompts, systems, judges)`, NaN where a judgment failed."""
    prompts, systems, judges = scores.shape
    panel = [Judge(f"persona {j}", "model", "dimensions") for j in range(judges)]
    items = [Item(f"p{p}", f"r{s}", SYSTEMS[s]) for p in range(prompts) for s in range(systems)]
    rules = rubric(*scale)
    run = Run(items, {}, panel, rules, prices={"model": None}, seed=0)
    for item, ratings in zip(items, scores.reshape(-1, judges), strict=True):
        judgments = [
            Judgment(item.prompt_id, item.id, item.system, judge, "failed")
            if np.isnan(rating)
            else Judgment(*item, judge, "scored", scores={"quality": float(rating)})
            for judge, rating in zip(panel, ratings, strict=True)
        ]
        for judgment in judgments:
            run.add(judgment)
        run.conclude(aggregate(judgments, rules))
    return run


def whole(values: Array, low: int, high: int) -> Array:
    return np.clip(np.round(values), low, high)


def latent(draw: np.random.Generator, prompts: int, *, spread: float = 1.0) -> Array:
    """Prompts that differ, systems that differ from prompt to prompt, judges with noise; a is a
    fifth of a point better than b."""
    shape = (prompts, len(SYSTEMS), _JUDGES)
    values = draw.normal(0, 1, (prompts, 1, 1)) + draw.normal(0, spread, shape[:2])[..., None]
    return values + draw.normal(0, 1, shape) + np.array([0.2, 0.0, -1.0])[:, None]


def plain(draw: np.random.Generator, prompts: int) -> Array:
    return whole(6 + latent(draw, prompts), 1, 10)


def ties(draw: np.random.Generator, prompts: int) -> Array:
    scores = whole(3 + 0.7 * latent(draw, prompts), 1, 5)
    same = draw.random((prompts, _JUDGES)) < 0.5
    scores[:, 1] = np.where(same, scores[:, 0], scores[:, 1])
    return scores


def gaps(draw: np.random.Generator, prompts: int) -> Array:
    scores = plain(draw, prompts)
    scores[draw.random(scores.shape) < 0.25] = np.nan
    return scores


def ceiling(draw: np.random.Generator, prompts: int) -> Array:
    return whole(5 + 0.6 * latent(draw, prompts), 1, 5)


def collapses(draw: np.random.Generator, prompts: int) -> Array:
    scores = plain(draw, prompts)
    scores[draw.random(scores.shape[:2]) < 0.1] = 1
    return scores


DATA: dict[str, tuple[_Draw, tuple[int, int]]] = {
    "plain": (plain, (1, 10)),
    "ties": (ties, (1, 5)),
    "gaps": (gaps, (1, 10)),
    "ceiling": (ceiling, (1, 5)),
    "collapses": (collapses, (1, 10)),
}


@cache
def truth(kind: str) -> tuple[float, ...]:
    """The composite of each system over all such prompts. Gaps are at random: those of `plain`."""
    draw, _ = DATA["plain" if kind == "gaps" else kind]
    means = draw(np.random.default_rng(99), _MANY).mean(axis=(0, 2))
    return tuple(float(mean) for mean in means)


def of_run(kind: str, templates: Sequence[str]) -> Event:
    """Whether a run meets these requirements; `{a}` stands for a's composite in truth."""
    draw, scale = DATA[kind]

    def is_met(random: np.random.Generator, prompts: int) -> bool:
        a, b, c = truth(kind)
        required = [one.format(a=a, b=b, c=c, difference=a - b) for one in templates]
        return check(run_of(draw(random, prompts), scale), *required).met

    return is_met


def ratings_of(scores: Array) -> Ratings:
    """Scores `(prompts, responses, raters)` with names."""
    prompts, responses, raters = scores.shape
    names = tuple(f"p{p}" for p in range(prompts) for _ in range(responses))
    return Ratings(
        scores.reshape(-1, raters, 1),
        tuple(f"i{n}" for n in range(prompts * responses)),
        tuple(f"r{n}" for n in range(raters)),
        ("all",),
        ("judges",) * raters,
        prompts=names,
    )


def rated(draw: np.random.Generator, prompts: int) -> tuple[Ratings, Ratings]:
    """A panel of three and three people, five responses to a prompt, scores from 1 to 5."""
    quality = draw.normal(0, 0.8, (prompts, 5, 1))
    sides = [whole(3 + quality + draw.normal(0, 0.9, (prompts, 5, 3)), 1, 5) for _ in range(2)]
    return ratings_of(sides[0]), ratings_of(sides[1])


_OPTIONS = AnalysisOptions(n_permutations=0)


@cache
def true_statistic(name: str) -> float:
    """Over all such prompts, from 400 of them 20 times."""
    draw = np.random.default_rng(98)
    values = [_rows(name, *rated(draw, 400), intervals=False)[0].value for _ in range(20)]
    return float(np.mean(values))


def _rows(name, panel, humans, *, intervals=True):  # type: ignore[no-untyped-def]
    options = AnalysisOptions(n_permutations=0, intervals=intervals)
    if name in ("krippendorff_alpha", "icc2k"):
        return agree(panel, options, only=[name])
    return correlate(panel, humans, options, only=[name])


def of_rows(name: str, side: str) -> Event:
    def is_met(random: np.random.Generator, prompts: int) -> bool:
        rows = _rows(name, *rated(random, prompts))
        return check(rows, f"{name} {side} {true_statistic(name)}").met

    return is_met


def delta_of(kind: str, draw: np.random.Generator, prompts: int) -> Array:
    """Δs `(prompts,)` of a sweep in which b's answers are a's under pressure; `steady`: all prompts
    gain a little but one in ten, which collapses. Missing judgments leave out their pairs."""
    if kind == "steady":
        falls = np.where(draw.random(prompts) < 0.1, 5.0, -0.5)
        return np.asarray(falls + draw.normal(0, 0.5, prompts))
    scores = DATA[kind][0](draw, prompts)
    return row_means(scores[:, 0] - scores[:, 1])


@cache
def true_delta(kind: str) -> tuple[float, float]:
    """The mean Δ and the share of large falls over all such prompts."""
    values = delta_of(kind, np.random.default_rng(97), _MANY)
    return float(np.nanmean(values)), float(np.mean(np.round(values[~np.isnan(values)], 9) >= 3))


def of_sweep(kind: str, side: str, figure: str) -> Event:
    """Whether a sweep of one cell meets a requirement on its bound."""

    def is_met(random: np.random.Generator, prompts: int) -> bool:
        delta = delta_of(kind, random, prompts)
        none = np.zeros((1, prompts, 1), dtype=np.intp)
        names = Names(("a",), ("p",) * prompts, ("pressed",), ("quality",))
        (cell,) = measure(delta.reshape(1, prompts, 1, 1), names, none, none).cells
        bound = true_delta(kind)[figure == "large_falls"]
        figures = result_figures(Result("sweep", (), [cells_table([cell], (), "")]))
        return decide_all(parsed([f"{figure} {side} {bound}"]), figures).met

    return is_met


def equal(draw: np.random.Generator, prompts: int) -> bool:
    """Whether one of three equal systems is said to be the first."""
    scores = whole(6 + latent(draw, prompts) - np.array([0.2, 0.0, -1.0])[:, None], 1, 10)
    return check(run_of(scores, (1, 10)), "rank[a] <= 1").met


SEVERAL = (
    "composite[a] >= {a}", "composite[b] >= {b}", "composite[c] >= {c}",
    "difference[a,b] >= {difference}", "quality[a] >= {a}",
)  # fmt: skip
EASY = ("composite[b] >= 1", "composite[c] >= 2", "difference[a,c] >= -5", "coverage >= 0.5")

KINDS: dict[str, Event] = {
    **{
        f"{kind}, {template.split('[')[0]} {side}": of_run(kind, [template.replace(">=", side)])
        for kind in DATA
        for template in ("composite[a] >= {a}", "difference[a,b] >= {difference}")
        for side in (">=", "<=")
    },
    "rank of equal systems": equal,
    "several on the bound": of_run("plain", SEVERAL),
    "one on the bound, four easy": of_run("plain", ("composite[a] >= {a}", *EASY)),
    **{
        f"sweep, {kind}, {figure} {side}": of_sweep(kind, side, figure)
        for kind in (*DATA, "steady")
        for figure in ("delta", "large_falls")
        for side in ("<=", ">=")
    },
    **{
        f"{name} {side}": of_rows(name, side)
        for name in ("krippendorff_alpha", "icc2k", "tau_c", "tau_b_within_prompts", "pearson")
        for side in (">=", "<=")
    },
}


if __name__ == "__main__":
    print_shares(__doc__, KINDS, "3,5,8,12,30")
