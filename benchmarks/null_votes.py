"""How often intervals of effective votes hold the true number, and how often two sources with the
same number are said to differ.

    python -m benchmarks.null_votes [--trials 1000]

A run of four systems, five personas through three models and as many replicates of a judge without
a persona. Scores have an effect of the prompt, of the response, of the model, of the persona on the
response, and noise; they are rounded to whole points from 1 to 7. True numbers are those of 1,500
prompts. `null`: persona effects are of the size of the replicates' noise, so personas and
replicates have the same correlation. `personas`: replicates vary less than personas do;
`replicates`: personas do. With people, six of them rate each response.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from math import sqrt

import numpy as np

from persona_panel.statistics.selection import ensemble_distance
from persona_panel.statistics.votes import effective_votes

_MODELS, _PERSONAS, _SYSTEMS, _PEOPLE = 3, 5, 4, 6
_SETTINGS = {"null": (0.0, 0.8), "personas": (0.7, 0.3), "replicates": (0.0, 0.3)}
"""Standard deviation of the effect of a persona on a response, and of a replicate's noise; noise of
a persona's judgment is 0.8 in the first and 0.5 in the others."""

_SEVERITY = np.linspace(-0.4, 0.4, _PERSONAS)
"""How far personas are above the others on every response."""

Simulated = tuple[np.ndarray, np.ndarray, list[int]]


def simulated(rng: np.random.Generator, n_prompts: int, setting: str) -> Simulated:
    """Ratings `(responses, judges)`, people's `(responses, people)`, and the prompts."""
    by_persona, replicate_noise = _SETTINGS[setting]
    persona_noise = 0.8 if setting == "null" else 0.5
    n = n_prompts * _SYSTEMS
    prompts = np.repeat(np.arange(n_prompts), _SYSTEMS)
    truth = 4 + 0.6 * rng.normal(size=n_prompts)[prompts] + 0.8 * rng.normal(size=n)
    of_model = 0.5 * rng.normal(size=(n, 1, _MODELS))
    personas = (
        truth[:, None, None]
        + of_model
        + by_persona * rng.normal(size=(n, _PERSONAS, 1))
        + persona_noise * rng.normal(size=(n, _PERSONAS, _MODELS))
        + _SEVERITY[None, :, None]
    )
    replicates = (
        truth[:, None, None] + of_model + replicate_noise * rng.normal(size=(n, _PERSONAS, _MODELS))
    )
    judges = np.concatenate([personas.reshape(n, -1), replicates.reshape(n, -1)], axis=1)
    people = truth[:, None] + 0.8 * rng.normal(size=(n, _PEOPLE))
    rounded = [np.clip(np.round(each), 1, 7) for each in (judges, people)]
    return rounded[0], rounded[1], prompts.tolist()


def sources() -> Mapping[str, list[list[int]]]:
    """The columns of each set of judges."""
    columns = np.arange(2 * _PERSONAS * _MODELS).reshape(2, _PERSONAS, _MODELS)
    return {
        "personas": columns[0].T.tolist(),
        "replicates": columns[1].T.tolist(),
        "models": columns[0].tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--prompts", type=int, nargs="+", default=[8, 12, 30, 100])
    given = parser.parse_args()
    for setting in _SETTINGS:
        for with_people in (False, True):
            ratings, people, prompts = simulated(np.random.default_rng(99), 1500, setting)
            reference = people if with_people else None
            true, true_differences = effective_votes(ratings, sources(), reference)
            panel = ratings[:, : _PERSONAS * _MODELS]
            target_of = people.mean(axis=1)
            farther = ((panel - target_of[:, None]) ** 2).mean(axis=0) - float(
                ((panel.mean(axis=1) - target_of) ** 2).mean()
            )
            for n_prompts in given.prompts:
                held = np.zeros((len(true) + len(true_differences), 2))
                distances = []
                signs, widths = np.zeros(2), np.zeros(2)
                for trial in range(given.trials):
                    rng = np.random.default_rng([trial, n_prompts])
                    ratings, people, prompts = simulated(rng, n_prompts, setting)
                    found, differences = effective_votes(
                        ratings, sources(), people if with_people else None, prompts
                    )
                    near = ensemble_distance(
                        ratings[:, : _PERSONAS * _MODELS], people.mean(axis=1), prompts
                    )
                    those = [
                        *(
                            (one.votes.low, one.votes.high, t.votes.value)
                            for one, t in zip(found, true, strict=True)
                        ),
                        *(
                            (one.low, one.high, t.value)
                            for one, t in zip(differences, true_differences, strict=True)
                        ),
                    ]
                    target = farther[near.chosen]
                    distances.append(near.difference.low <= target <= near.difference.high)
                    for place, (low, high, value) in enumerate(those):
                        if not np.isnan(low):
                            held[place] += (low <= value <= high, 1)
                    if not np.isnan(differences[0].low):
                        signs += (differences[0].low > 0, differences[0].high < 0)
                        widths += (differences[0].high - differences[0].low, 1)
                with np.errstate(invalid="ignore"):
                    shares = held[:, 0] / held[:, 1]
                    error = sqrt(0.95 * 0.05 / max(held[0, 1], 1))
                    print(
                        f"{setting:10} people={with_people!s:5} prompts={n_prompts:3}",
                        f"± {error:.3f}",
                        "votes " + " ".join(f"{x:.3f}" for x in shares[:3]),
                        "differences " + " ".join(f"{x:.3f}" for x in shares[3:6]),
                        f"distance {np.mean(distances):.3f}",
                        f"personas > replicates {signs[0] / given.trials:.3f}, < "
                        f"{signs[1] / given.trials:.3f}, width {widths[0] / max(widths[1], 1):.2f}",
                        [round(t.votes.value, 2) for t in true],
                        flush=True,
                    )


if __name__ == "__main__":
    main()
