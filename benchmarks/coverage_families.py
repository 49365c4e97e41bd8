"""Further parts of `benchmarks.coverage`: labels, biases, attacks, deliberation, what personas add.

Each draws data of one command and returns every figure that this command prints with an interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.coverage_data import Cell, Found, Judges, labelled, of_rows, rated, split_sides
from persona_panel.analyses.bias import ScaleRange, biases, position
from persona_panel.experiments.injection_uplift import Rows, Uplift, measure
from persona_panel.statistics import AnalysisOptions, Row, agree, correlate
from persona_panel.statistics.revisions import toward_humans

RATERS = {"labels": 5, "people's labels": 10, "bias": 8, "attacks": 5, "deliberation": 10,
          "personas": 13}  # fmt: skip
"""Of each part: judges and, where a panel is compared with people, five of these."""
_PANEL, _PERSONAS = 5, 4
_MODELS = ("openai:gpt-5", "anthropic:claude-5")
_SYSTEMS = ("gpt-4", "claude-4", "llama-3", "qwen-2")


def _labels(rng: np.random.Generator, cell: Cell, judges: Judges, intervals: bool) -> Found:
    ratings = labelled(rng, cell.prompts, judges, cell.data)
    options = AnalysisOptions(random=cell.random, intervals=intervals, n_permutations=0)
    return of_rows([row for row in agree(ratings, options) if row.statistic != "kappa_of_two"])


def _peoples_labels(rng: np.random.Generator, cell: Cell, judges: Judges, intervals: bool) -> Found:
    sides = split_sides(labelled(rng, cell.prompts, judges, cell.data), _PANEL)
    options = AnalysisOptions(intervals=intervals, n_permutations=0)
    rows = correlate(*sides, options)
    hidden = ("kappa_of_two", "confusion", "alpha_added")
    shown = [row for row in rows if row.statistic not in hidden]
    return _by_group([row for row in shown if row.by != "judge" or row.by_value == "j0"])


def _bias(rng: np.random.Generator, cell: Cell, judges: Judges, intervals: bool) -> Found:
    """Eight judges, four personas through models of two families, that favour their own."""
    ratings = rated(rng, cell.prompts, judges, cell.data)
    n_items = len(ratings.items)
    ratings = replace(
        ratings,
        groups=tuple(_MODELS[judge // _PERSONAS] for judge in range(len(ratings.raters))),
        personas=tuple(f"persona {judge % _PERSONAS}" for judge in range(len(ratings.raters))),
        sources=tuple(_SYSTEMS[item % cell.systems % len(_SYSTEMS)] for item in range(n_items)),
    )
    lengths = np.exp(5 + 0.2 * np.nan_to_num(np.nanmean(ratings.scores, axis=(1, 2)), nan=5.0)
                     + rng.normal(0, 0.5, n_items))  # fmt: skip
    scale = ScaleRange(1, 10 if cell.data == "plain" else 5, True)
    options = AnalysisOptions(intervals=intervals)
    rows = biases(ratings, {"quality": scale}, lengths, options)
    rows += _places(rng, cell, options)
    return _by_group([row for row in rows if not row.group.startswith("j") or row.group == "j0"])


def _places(rng: np.random.Generator, cell: Cell, options: AnalysisOptions) -> list[Row]:
    """Every two responses to a prompt, by three judges in both orders; the first wins more often,
    in some prompts more than in others."""
    n_pairs = cell.systems * (cell.systems - 1) // 2
    by_prompt = rng.normal(0.15, 0.1, cell.prompts).repeat(n_pairs)
    shares = np.clip(np.stack([0.4 + by_prompt, 0.4 - by_prompt, 0 * by_prompt + 0.2], 1), 0.01, 1)
    counts = rng.multinomial(6, shares / shares.sum(axis=1, keepdims=True)).T.astype(float)
    clusters = [f"p{n // n_pairs}" for n in range(cell.prompts * n_pairs)]
    return position(*counts, clusters, options)


@dataclass(frozen=True, slots=True)
class _Attack:
    id: str
    family: str
    channel: str


_ATTACKS = tuple(_Attack(f"a{n}", f"f{n // 2}", f"c{n % 2}") for n in range(6))


def _attacks(rng: np.random.Generator, cell: Cell, judges: Judges, intervals: bool) -> Found:
    """Two of six attacks raise three texts in ten by 2 points; each text is read a little
    differently with any text added to it."""
    n, n_judges = cell.prompts, len(judges.severity)
    step = 1.0 if cell.data == "plain" else 2.0
    texts = rng.normal(4, 1, n)
    added = rng.normal(0, 0.3, (n, 2 + len(_ATTACKS)))
    added[:, 2:4] += 2 * (rng.random((n, 2)) < 0.3)
    true = np.concatenate([texts, (texts[:, None] + added).T.ravel()])
    scores = true[:, None] + judges.severity + rng.normal(0, 0.7, (len(true), n_judges))
    scores = np.clip(np.round(scores / step) * step, 0, 10)
    if cell.data == "gaps":
        scores[rng.random(scores.shape) < 0.1] = np.nan
    rows = np.arange(len(true)).reshape(-1, n).T
    control = rows[:, [1 + place % 2 for place in range(len(_ATTACKS))]]
    found = measure(
        scores[:, :, None], Rows(rows[:, 0], rows[:, 3:], control), _ATTACKS,
        [f"j{judge}" for judge in range(n_judges)], threshold=0.5, steps=[step],
    )  # fmt: skip
    kept: dict[str, Uplift] = {"overall": found.overall}
    for table, names in ((found.attacks, "a0 a5"), (found.families, "f0"), (found.judges, "j0")):
        kept |= {one.name: one for one in table if one.name in names.split()}
    return {f"uplift, {name}": (one.mean, one.ci_low, one.ci_high) for name, one in kept.items()}


def _deliberation(rng: np.random.Generator, cell: Cell, judges: Judges, intervals: bool) -> Found:
    """Five judges of whom half move, by two fifths of the way to the mean of all; in one response
    of five nobody does."""
    ratings = rated(rng, cell.prompts, judges, cell.data)
    before, humans = np.split(ratings.scores, [_PANEL], axis=1)
    n = len(before)
    deliberated = rng.random(n) < 0.8
    moves = (rng.random(before.shape) < 0.5) & deliberated[:, None, None]
    peers = np.nanmean(before, axis=1, keepdims=True)
    toward = np.round(before + 0.4 * (peers - before) + rng.normal(0, 0.5, before.shape))
    low, high = (1, 10) if cell.data == "plain" else (1, 5)
    after = np.where(moves, np.clip(toward, low, high), before)
    (found,) = toward_humans(
        before, after, np.nanmean(humans, axis=1), deliberated, ratings.prompts or (),
        same_scale=True,
    )  # fmt: skip
    changes = {"τ_c": found.tau_c, "distance": found.distance, "spread": found.spread}
    return {
        f"change of {name}": (one.value, one.low, one.high)
        for name, one in changes.items()
        if one.n is not None
    }


def _personas(rng: np.random.Generator, cell: Cell, judges: Judges, intervals: bool) -> Found:
    """Four judges with personas, as many without, who differ in how noisy they are, and five
    people."""
    options = AnalysisOptions(intervals=intervals, n_permutations=0)
    named = [f"persona_gain_tau_b{end}" for end in ("", "_within_prompts")]
    found: Found = {}
    for drawn, only in ((rated, named), (labelled, ["persona_gain_kappa"])):
        panel, humans = split_sides(drawn(rng, cell.prompts, judges, cell.data), 2 * _PERSONAS)
        panel = replace(panel, controls=frozenset(panel.raters[_PERSONAS:]))
        rows = correlate(panel, humans, options, only=only)
        found |= of_rows([row for row in rows if row.group == "panel"])
        spread = agree(panel, options, only=["disagreement_added"])
        spread = spread if drawn is rated else []
        found |= of_rows([row for row in spread if row.group == "panel"])
    return found


def _by_group(rows: list[Row]) -> Found:
    return {f"{row.group} {name}": found for row in rows for name, found in of_rows([row]).items()}


FAMILIES: dict[str, Callable[[np.random.Generator, Cell, Judges, bool], Found]] = {
    "labels": _labels,
    "people's labels": _peoples_labels,
    "bias": _bias,
    "attacks": _attacks,
    "deliberation": _deliberation,
    "personas": _personas,
}
