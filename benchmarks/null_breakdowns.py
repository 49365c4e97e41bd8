"""How often breakdowns claim something where there is nothing, and whether their intervals cover.

Personas of two axes speak through models; ratings are quality of the response, difficulty of the
prompt, severity of the judge and noise of each judge's own, rounded to a scale from 1 to 10 (1 to 5
in `ties`), with gaps in `gaps` and rare ratings that are far off in `outliers`; in `uneven` noise
differs by response and by judge. No persona sees a system, a dimension or a response otherwise.
What is counted is the share of runs with at least one claim, by table.

    python -m benchmarks.null_breakdowns [--trials 400]
"""

from __future__ import annotations

import argparse

import numpy as np

from panel.statistics.breakdown.cells import PersonaCells
from panel.statistics.breakdown.contested import contested_responses, response_departures
from panel.statistics.breakdown.group_contrasts import axis_pair, group_differences, model_pair
from panel.statistics.breakdown.persona_departures import (
    departures_by_dimension,
    departures_by_system,
    severities,
)
from panel.statistics.core.arrays import Array

N_SYSTEMS, N_PERSONAS, N_DIMENSIONS = 3, 6, 3
AXES = ["disciplinary"] * 3 + ["ideological"] * 3
PROMPTS = (3, 5, 8, 12, 30)
CASES = ("plain", "ties", "gaps", "outliers", "uneven")


def ratings(rng: np.random.Generator, n_prompts: int, case: str, severity: float) -> Array:
    """`(responses, judges, dimensions)`, judges by persona, then model or replicate."""
    n, n_judges = n_prompts * N_SYSTEMS, N_PERSONAS * 3
    quality = rng.normal(size=(n, 1, N_DIMENSIONS))
    quality = quality + np.repeat(rng.normal(size=n_prompts), N_SYSTEMS)[:, None, None]
    halo = rng.normal(size=(n, n_judges, 1))
    noise = 0.7 * halo + 0.7 * rng.normal(size=(n, n_judges, N_DIMENSIONS))
    if case == "uneven":
        noise *= rng.uniform(0.3, 2, size=(n, 1, 1)) * rng.uniform(0.5, 1.5, size=(1, n_judges, 1))
    if case == "outliers":
        noise += (
            4 * (rng.uniform(size=(n, n_judges, 1)) < 0.02) * rng.choice([-1, 1], (n, n_judges, 1))
        )
    lenient = severity * rng.normal(size=(1, n_judges, 1))
    scores = 5.5 + 1.2 * quality + noise + lenient
    if case == "ties":
        return np.clip(np.round(scores / 2), 1, 5)
    scores = np.clip(np.round(scores), 1, 10)
    if case == "gaps":
        scores[rng.uniform(size=(n, n_judges)) < 0.1] = np.nan
        scores[rng.uniform(size=scores.shape) < 0.02] = np.nan
    return scores


def claims(scores: Array, n_prompts: int, severity: float) -> dict[str, bool]:
    """Which tables claim something, and whether the interval of the axes over prompts and judges
    leaves out 0."""
    personas = [f"p{j // 3}" for j in range(N_PERSONAS * 3)]
    models = [f"m{j % 3}" for j in range(N_PERSONAS * 3)]
    cells = PersonaCells.of(scores, personas, models)
    systems = ["a", "b", "c"] * n_prompts
    prompts = np.repeat(np.arange(n_prompts), N_SYSTEMS)
    dimensions = [f"d{i}" for i in range(N_DIMENSIONS)]
    layers = [("composite", cells.whole)]
    layers += [(name, cells.values[..., i]) for i, name in enumerate(dimensions)]
    axis = [(name, axis_pair(y, "disciplinary", "ideological", AXES)) for name, y in layers]
    model = [(name, model_pair(y, "m0", "m1", cells.models)) for name, y in layers]
    tables = {
        "persona × system": departures_by_system(cells, systems, prompts),
        "persona × dimension": departures_by_dimension(cells, dimensions, prompts),
        "axes × system": group_differences(axis, systems, prompts, interaction=True),
        "models × system": group_differences(model, systems, prompts, interaction=True),
        "axes, judges a sample": group_differences(
            axis, systems, prompts, random="prompts-and-judges"
        ),
        "contested": contested_responses(cells),
    }
    if not severity:
        tables["severity"] = severities(cells, prompts)
        tables["axes"] = group_differences(axis, systems, prompts)
        tables["models"] = group_differences(model, systems, prompts)
    found = {name: any(one.shown for one in rows) for name, rows in tables.items()}
    found["persona × response"] = bool(response_departures(cells).shown.any())
    of_axes = tables["axes, judges a sample"][0]
    found["axes, judges: outside"] = not (of_axes.ci_low <= 0 <= of_axes.ci_high)
    return found


def main() -> None:
    """Print the share of runs with a false claim."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=400)
    trials = parser.parse_args().trials
    for severity in (0.0, 0.5):
        for case in CASES:
            shares = {}
            for n_prompts in PROMPTS:
                rng = np.random.default_rng(n_prompts)
                runs = [
                    claims(ratings(rng, n_prompts, case, severity), n_prompts, severity)
                    for _ in range(trials)
                ]
                for name in runs[0]:
                    share = float(np.mean([run[name] for run in runs]))
                    shares.setdefault(name, []).append(f"{share:>8.1%}")
            print(
                f"\n{case}, severity {severity:g}; {trials} runs of {PROMPTS} prompts", flush=True
            )
            for name, told in shares.items():
                print(f"  {name:<26}{''.join(told)}", flush=True)


if __name__ == "__main__":
    main()
