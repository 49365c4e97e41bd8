"""People and judges on debate speeches: Figures 2, 4, 5 and 12 of the paper.

    python examples/debate_speeches.py PATH

PATH is a folder with data.csv, speeches and their ratings by people; judge_*.csv beside it (id,
score) are other judges, such as judge_qwen3-8b.csv of github.com/robert-e-roy/debatebench. A panel
of your own is compared by `persona-panel people import debate-speeches` and `score --human`.

Where there are four judges or more, ensembles of them are chosen by τ_c with people on other
topics: the better half and the other half, each compared with its members on the topics left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from shared import beside, ratings_of

from persona_panel.statistics import (
    Statistic,
    correlation,
    human_ceiling,
    row_means,
    score_distributions,
    source_means,
    substitution,
)

SHARED, LEAST_JUDGES, FOLDS = 50, 4, 5
Array = NDArray[np.float64]


def shown(figure: Statistic) -> str:
    """A value, or why there is none."""
    return f"{figure.value:.3f}" if figure.reason is None else str(figure.reason)


def tau_c(scores: Array, target: Array) -> float:
    return correlation(scores, target, "tau_c").value


def halves(by_judge: Array, target: Array, topics: Sequence[str]) -> dict[str, Array]:
    """The better half of the judges and the other, each speech by those chosen on other topics:
    (speeches, judges of the half), the nearest to people first."""
    names = list(dict.fromkeys(topics))
    codes = [names.index(topic) for topic in topics]
    folds = min(FOLDS, len(names))
    fold_of = np.random.default_rng(0).permutation(np.arange(len(names)) % folds)[codes]
    ranked, n = np.full(by_judge.shape, np.nan), by_judge.shape[1] // 2
    for fold in range(folds):
        own = fold_of == fold
        order = np.argsort([-tau_c(judge, target[~own]) for judge in by_judge[~own].T])
        ranked[own] = by_judge[own][:, order]
    return {"strong": ranked[:, :n], "weak": ranked[:, -n:]}


data = ratings_of("debate-speeches", __doc__)
people = data["ratings"]
# Who gave which speech which score: (speeches, people), NaN where nobody was asked.
humans, sources, topics = people.scores[:, :, 0], people.sources or (), people.prompts or ()
judges = {}
if "judges" in data:
    others = data["judges"]
    places = {item: place for place, item in enumerate(others.items)}
    absent = np.full((1, len(others.raters)), np.nan)
    scores = np.vstack([others.scores[:, :, 0], absent])
    rows = [places.get(item, -1) for item in people.items]
    judges = dict(zip(others.raters, scores[rows].T, strict=True))
else:
    print("No judge_*.csv is there: what follows is of people alone.")

table = Table("judge", "pairs of\npeople", "κ of\npeople", "κ, judge\nfor one", "τ_c of\na person",
              "τ_c of\nthe judge", "r over\nsources", box=SIMPLE_HEAD,
              title=f"Judges against people, on {len(humans)} speeches")  # fmt: skip
for name, judge in judges.items():
    # Quadratic κ, with one of each pair replaced by the judge; τ_c with the mean person.
    kappa = substitution(humans, judge, min_shared=SHARED)
    of_judge = source_means(judge, humans, sources)
    table.add_row(
        name, str(kappa.humans.n_pairs), shown(kappa.humans.with_zeros),
        shown(kappa.panel.with_zeros), shown(human_ceiling(humans, "tau_c")),
        shown(correlation(judge, row_means(humans), "tau_c")), shown(of_judge.pearson),
    )  # fmt: skip
if judges:
    Console().print(table)
    print(f"Pairs of people share {SHARED} speeches or more.")
if len(judges) >= LEAST_JUDGES:
    by_judge = np.stack(list(judges.values()), axis=1)
    table = Table("ensemble", "τ_c", "τ_c of its\nmembers", box=SIMPLE_HEAD,
                  title="Chosen on other topics")  # fmt: skip
    target = row_means(humans)
    for half, part in halves(by_judge, target, topics).items():
        members = np.mean([tau_c(judge, target) for judge in part.T])
        table.add_row(half, f"{tau_c(row_means(part), target):.3f}", f"{members:.3f}")
    Console().print(table)

sides = {"people": humans, **judges}
values, shares = score_distributions(*sides.values())
table = Table("who", *(f"{value:g}" for value in values), "mean", box=SIMPLE_HEAD,
              title="How often each score is given")  # fmt: skip
for (name, own), of in zip(sides.items(), shares, strict=True):
    table.add_row(name, *(f"{share:.2f}" for share in of), f"{np.nanmean(own):.2f}")
Console().print(table)
by_source = [source_means(side, humans, sources) for side in (row_means(humans), *judges.values())]
table = Table("source", *sides, box=SIMPLE_HEAD, title="Mean score by source")
for place, source in enumerate(by_source[0].sources):
    table.add_row(str(source), *(f"{side.panel[place]:.2f}" for side in by_source))
Console().print(table)
beside("debate-speeches")
