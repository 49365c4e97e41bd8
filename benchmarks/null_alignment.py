"""How often a gain by alignment is claimed where there is none, how often its interval holds the
true change, and how often a true gain is found.

    python -m benchmarks.null_alignment [--trials 1000] [--prompts 10 20 40] [--kinds …]

Three texts to a prompt, six judges, four people; what people would give has an effect of the prompt
and one of the text. Kinds:

- `shuffled within`, `shuffled`: judges go with people, are a point too high, and three are noisier;
  then people's ratings are shuffled among the texts of each prompt, or among all texts;
- `unrelated`: judges have a view of their own;
- `single`: as `unrelated`, with one text to a prompt and twice as many prompts;
- `best as is`: people's mean is the mean of the judges and noise, so that nothing can be gained;
- `distorted`: judges use the upper end of their scale, by a monotone function;
- `unequal`: two judges are good and four noisy;
- `gaps`: as `unequal`, whole ratings from 1 to 7, a tenth missing.

The true change of the RMSE is that of the rules that were learnt from all folds but one, on 3,000
other prompts; `all`: that of the rule learnt from everything. Of the first four kinds any claim of
a gain is false.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from math import sqrt
from typing import Literal, get_args

import numpy as np

from persona_panel.statistics.alignment import METHODS, AlignmentRule
from persona_panel.statistics.core.arrays import Array, IntArray, row_means
from tests.helpers.aligned import learnt_alignment

Kind = Literal[
    "shuffled within", "shuffled", "unrelated", "single", "best as is", "distorted", "unequal",
    "gaps",
]  # fmt: skip
JUDGES, PEOPLE, TEXTS = 6, 4, 3
MANY = 3000

Simulated = tuple[Array, Array, IntArray]


def simulated(rng: np.random.Generator, n_prompts: int, kind: Kind) -> Simulated:
    """Judges' ratings `(texts, judges)`, people's `(texts, people)`, and the prompts."""
    n_texts = 1 if kind == "single" else TEXTS
    n_prompts = 2 * n_prompts if kind == "single" else n_prompts
    prompts = np.repeat(np.arange(n_prompts), n_texts)
    n = len(prompts)

    def views() -> Array:
        return 3 + 0.6 * rng.normal(size=n_prompts)[prompts] + 0.8 * rng.normal(size=n)

    truth = views()
    people = truth[:, None] + 0.8 * rng.normal(size=(n, PEOPLE))
    noise = rng.normal(size=(n, JUDGES))
    uneven = np.repeat([0.8, 1.3], JUDGES // 2)
    if kind in ("shuffled within", "shuffled"):
        judges = truth[:, None] + 1 + uneven * noise
        order = prompts + 0.9 * rng.random(n) if kind == "shuffled within" else rng.random(n)
        people = people[np.argsort(order)]
    elif kind in ("unrelated", "single"):
        judges = views()[:, None] + uneven * noise
    elif kind == "best as is":
        judges = truth[:, None] + 0.8 * noise
        own = judges.mean(axis=1) + 0.5 * rng.normal(size=n)
        people = own[:, None] + 0.8 * rng.normal(size=(n, PEOPLE))
    elif kind == "distorted":
        judges = 10 - 6 * np.exp(-truth / 2)[:, None] + 0.4 * noise
    else:
        judges = truth[:, None] + np.repeat([0.5, 1.6], [2, JUDGES - 2]) * noise
    if kind == "gaps":
        judges, people = (np.clip(np.round(side + 1), 1, 7) for side in (judges, people))
        judges[rng.random(judges.shape) < 0.1] = np.nan
    return judges, people, prompts


def measured(cell: tuple[Kind, int, int]) -> list[str]:
    """A line for each method."""
    kind, n_prompts, trials = cell
    judges, people, _ = simulated(np.random.default_rng(99), MANY, kind)
    target, equal = row_means(people), row_means(judges)
    whole = float(((equal - target) ** 2).mean())

    errors = judges - target[:, None]
    products = errors.T @ errors / len(errors)

    def error(rule: AlignmentRule) -> float:
        if len(rule.scores):
            changed = np.interp(equal, rule.scores, rule.values)
            return float(((changed - target) ** 2).mean())
        if kind != "gaps":
            return float(rule.weights @ products @ rule.weights)
        return float(np.nanmean((rule.apply(judges) - target) ** 2))

    found: dict[str, list[tuple[float, ...]]] = {method: [] for method in METHODS}
    any_gain = refused = 0
    for trial in range(trials):
        ours, theirs, of = simulated(np.random.default_rng([trial, n_prompts]), n_prompts, kind)
        learnt = learnt_alignment(ours, theirs, of.tolist())
        refused += learnt.reason is not None
        claimed = False
        for one in learnt.methods:
            if one.error is None:
                continue
            after = sqrt(float(np.mean([error(rule) for rule in one.fold_rules])))
            of_all = sqrt(error(one.rule)) if one.rule is not None else np.nan
            moved = one.error
            truth = after - sqrt(whole), of_all - sqrt(whole)
            gain = one.p < 0.05 and moved.value < 0
            claimed |= one.p_adjusted < 0.05 and moved.value < 0
            worse = one.p < 0.05 and moved.value > 0
            # Without an interval the rule is that of equal weights, and changes nothing.
            covered = [
                moved.low <= value <= moved.high if moved.has_interval else np.nan
                for value in truth
            ]
            found[one.method].append((gain, worse, *covered, moved.value, truth[0]))
        any_gain += claimed
    lines = []
    for method, rows in found.items():
        gain, worse, fold, of_all, estimate, true = np.nanmean(np.array(rows), axis=0)
        lines.append(
            f"{kind:16} {n_prompts:3} prompts, {method:9} gain {gain:.3f}, worse {worse:.3f}, "
            f"covered {fold:.3f} (all {of_all:.3f}), estimate {estimate:+.3f}, true {true:+.3f}"
        )
    lines.append(
        f"{kind:16} {n_prompts:3} prompts, any gain, adjusted {any_gain / trials:.3f}; refused "
        f"{refused / trials:.3f}"
    )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--prompts", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--kinds", nargs="+", choices=get_args(Kind), default=get_args(Kind))
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    cells = [(*cell, given.trials) for cell in product(given.kinds, given.prompts)]
    with ProcessPoolExecutor(given.jobs) as pool:
        for lines in pool.map(measured, cells):
            print("\n".join(lines), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
