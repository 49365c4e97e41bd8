"""How often breakdowns claim something where there is nothing, and whether their intervals cover.

Personas of two axes speak through models; ratings are quality of the response, difficulty of the
prompt, severity of the judge and noise of each judge's own, rounded to a scale from 1 to 10 (1 to 5
in `ties`), with gaps in `gaps` and rare ratings that are far off in `outliers`; in `uneven` noise
differs by response and by judge. No persona sees a system, a dimension or a response otherwise.
What is counted is the share of runs with at least one claim, by table.

    python -m benchmarks.null_breakdowns [--trials 400] [--tables personas strata authors]

`strata` has the differences between strata of other prompts, of the same and of some of the same;
`authors` the shares of kinds of authors, with how often their intervals cover.
"""

from __future__ import annotations

import argparse

import numpy as np

from persona_panel.statistics.core.arrays import Array
from persona_panel.statistics.core.estimate import LEVEL
from persona_panel.statistics.personas import (
    PersonaCells,
    axis_pair,
    contested_responses,
    departures_by_dimension,
    departures_by_system,
    model_pair,
    pairwise_differences,
    response_departures,
    severities,
)
from persona_panel.statistics.sources import AuthorShare, author_shares
from persona_panel.statistics.strata import (
    StratumFigure,
    stratum_differences,
)

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
        "axes × system": pairwise_differences(axis, systems, prompts, interaction=True),
        "models × system": pairwise_differences(model, systems, prompts, interaction=True),
        "axes, judges a sample": pairwise_differences(
            axis, systems, prompts, random="prompts-and-judges"
        ),
        "contested": contested_responses(cells),
    }
    if not severity:
        tables["severity"] = severities(cells, prompts)
        tables["axes"] = pairwise_differences(axis, systems, prompts)
        tables["models"] = pairwise_differences(model, systems, prompts)
    found = {name: any(one.shown for one in rows) for name, rows in tables.items()}
    found["persona × response"] = bool(response_departures(cells).shown.any())
    of_axes = tables["axes, judges a sample"][0]
    found["axes, judges: outside"] = not (of_axes.low <= 0 <= of_axes.high)
    return found


def strata_differ(rng: np.random.Generator, kind: str, n_prompts: int, n_strata: int) -> bool:
    """Whether the first of several strata is said to differ, of which none does."""
    shared = rng.normal(size=n_prompts)
    figures = []
    for k in range(n_strata):
        scores = rng.normal(size=n_prompts) * (1 + k)
        if kind == "other":
            # The first is smaller, and its values are nearer to each other.
            scores = scores if k else scores[: max(3, n_prompts // 3)]
            prompts = [f"{k}/{i}" for i in range(len(scores))]
        else:
            scores = scores + shared
            prompts = [str(i) for i in range(n_prompts)]
        if kind == "some":
            scores[rng.uniform(size=n_prompts) < 0.4] = np.nan
        figures.append((str(k), StratumFigure.mean(scores, prompts)))
    return stratum_differences(figures)[0].p < LEVEL


def author_scores(
    rng: np.random.Generator, n_prompts: int, n_texts: tuple[int, int], effect: float, sd: float
) -> Array:
    """`(prompts, texts)`, those of humans first, above the others by `effect`, which varies over
    prompts by `sd`; to half a point."""
    scores = rng.normal(size=(n_prompts, sum(n_texts))) + rng.normal(size=(n_prompts, 1))
    scores[:, : n_texts[0]] += effect + sd * rng.normal(size=(n_prompts, 1))
    return np.round(2 * scores) / 2


def author_shares_of(scores: Array, n_texts: tuple[int, int]) -> list[AuthorShare]:
    """Human against model authors."""
    kinds = ["human"] * n_texts[0] + ["model"] * n_texts[1]
    prompts = np.repeat(np.arange(len(scores)), scores.shape[1])
    return author_shares(scores.ravel(), kinds * len(scores), prompts)


def strata(trials: int) -> None:
    """Print how often strata that do not differ are said to."""
    for kind in ("other", "same", "some"):
        for n_strata in (2, 4):
            told = []
            for n_prompts in PROMPTS[1:]:
                rng = np.random.default_rng(n_prompts)
                found = [strata_differ(rng, kind, n_prompts, n_strata) for _ in range(trials)]
                told.append(f"{np.mean(found):>8.1%}")
            print(f"{n_strata} strata of {kind} prompts{''.join(told)}", flush=True)


def authors(trials: int) -> None:
    """Print how often intervals of the shares cover, and how often something is claimed."""
    for n_texts in ((1, 1), (1, 4), (2, 3)):
        for effect, sd in ((0.0, 0.0), (0.0, 1.0), (1.2, 0.5)):
            large = author_scores(np.random.default_rng(0), 4_000, n_texts, effect, sd)
            truth = [one.value for one in author_shares_of(large, n_texts)]
            for n_prompts in PROMPTS[1:]:
                rng = np.random.default_rng(n_prompts)
                covered, claimed = np.zeros(len(truth)), 0
                for _ in range(trials):
                    scores = author_scores(rng, n_prompts, n_texts, effect, sd)
                    found = author_shares_of(scores, n_texts)
                    covered += [
                        one.reason is not None or one.low <= value <= one.high
                        for one, value in zip(found, truth, strict=True)
                    ]
                    claimed += any(one.shown for one in found)
                told = " ".join(f"{one:.3f}" for one in covered / trials)
                print(
                    f"{n_texts}, effect {effect}, sd {sd}, {n_prompts} prompts: covered {told}; "
                    f"claimed {claimed / trials:.1%}",
                    flush=True,
                )


def main() -> None:
    """Print the share of runs with a false claim."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=400)
    names = ("personas", "strata", "authors")
    parser.add_argument("--tables", nargs="+", choices=names, default=names)
    given = parser.parse_args()
    for name in given.tables:
        {"personas": personas, "strata": strata, "authors": authors}[name](given.trials)


def personas(trials: int) -> None:
    """Print the share of runs with a false claim about personas, axes and models."""
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
