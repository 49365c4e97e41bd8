"""Novices on the quality of arguments: Tables 2 and 3 of the paper.

    python examples/argument_quality.py PATH

PATH is a folder with novice_ratings_with_text.json: arguments, each with the `ratings` by
dimension and rater, 1 to 3, or "?" where a rater could not tell. Beside Krippendorff's α of all
ratings stands that of three of each argument, chosen so that it is highest, what such a choice
makes of ratings that are dealt out at random, and the paper's. Model raters join the people by
`persona-panel people correlate RUN --human RATINGS --full`.
"""

from __future__ import annotations

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from shared import beside, figures, ratings_of

from persona_panel.statistics import (
    by_chance,
    jackknife,
    krippendorff_alpha,
    most_agreeing,
    perfect_agreement,
)

PAPER, MIN_RATERS, OVERALL = "argument-quality", 3, "all dimensions"

novices = ratings_of(PAPER, __doc__)["ratings"]
# Who gave which argument which score, by dimension: (arguments, people), "?" as a gap.
in_order = np.argsort(novices.raters)
humans = {
    name.replace("_", " "): novices.scores[:, in_order, novices.dimensions.index(name)]
    for name in sorted(novices.dimensions)
}
alphas, counts = figures(PAPER, "4.1, Table 2"), figures(PAPER, "Table 3")
table = Table(
    "dimension", "α, 95 % interval", f"of {MIN_RATERS}\nchosen", "so, by\nchance", "paper",
    "all\nagree", f"all {MIN_RATERS}\nchosen", "paper", box=SIMPLE_HEAD,
    title=f"Novices: α, and arguments of which all ratings ({MIN_RATERS} or more) agree",
)  # fmt: skip
for dimension, scores in {**humans, OVERALL: np.vstack(list(humans.values()))}.items():
    alpha = krippendorff_alpha(scores)
    # The ratings of an argument on all dimensions are drawn together.
    of_argument = np.tile(range(len(novices.items)), len(scores) // len(novices.items))
    interval = jackknife(alpha.resampled, len(scores), of_argument, limits=(-1.0, 1.0))
    perfect = perfect_agreement(scores, min_raters=MIN_RATERS)
    # Of each argument the three ratings that make α highest; what that gives without agreement.
    chosen = most_agreeing(scores, MIN_RATERS)
    table.add_row(
        dimension,
        f"{alpha.value:.2f}"
        + ("" if interval.reason else f" [{interval.low:.2f}, {interval.high:.2f}]"),
        f"{chosen.alpha.value:.2f}",
        f"{by_chance(scores, MIN_RATERS):.2f}",
        str(alphas.get(dimension, "")),
        str(perfect.subset.sum()),
        str(perfect_agreement(chosen.ratings, min_raters=MIN_RATERS).subset.sum()),
        str(counts.get(dimension, "")),
    )
Console().print(table)
beside(PAPER)
