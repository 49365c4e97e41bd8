"""SCRuB's experts: how far they agree, and how they rank and score people's and models' essays.

    python examples/scrub_experts.py PATH

PATH is the folder of the published data, or task2_human_judgments.csv alone. Printed are the
figures of the paper's full study (section 6; Figures 2 and 3): the mean of Kendall's W over
prompts, ordinal α over texts and the mean of τ_b over pairs of experts, each by domain; mean ranks
by author and domain; mean scores by author and dimension with standard errors over texts. Items
that checked the experts are left out of all, and stand in a table of their own. For a panel beside
the experts:

    persona-panel people import scrub PATH --out scrub
    persona-panel score scrub/responses.jsonl --personas perspectives --human scrub/rankings.csv …
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from shared import beside, figures, ratings_of

from persona_panel.statistics import Ratings, kendall_w, krippendorff_alpha, pairwise, row_means

HUMAN, EVERY = "human", "all"
read = ratings_of("scrub", __doc__)


def with_paper(cell: str, name: str, known: Mapping[str, float]) -> str:
    """A cell with the paper's figure of what begins with one of the known names."""
    return next((f"{cell} ({known[own]:g})" for own in known if name.startswith(own)), cell)


def ranks_of(ratings: Ratings) -> np.ndarray:
    """Ranks, (texts, experts), NaN where an expert did not rank a text."""
    return ratings.scores[:, :, 0]


def domain_of(prompt: str) -> str:
    """The source that a prompt was made of, with which its name begins."""
    return prompt.partition("_")[0]


ranks = read["rankings"]
prompts, sources = list(ranks.prompts or ()), list(ranks.sources or ())
domains = [domain_of(prompt) for prompt in prompts]
given = ranks_of(ranks)
agreement = Table(
    "domain", "prompts", "W", "α", "τ_b", title="Experts (the paper)", box=SIMPLE_HEAD
)
means = Table("domain", title="Mean rank, 1 is best (the paper)", box=SIMPLE_HEAD)
authors = sorted(set(sources), key=lambda name: (name == HUMAN, name))
for author in authors:
    means.add_column(author)
for domain in (*sorted(set(domains)), EVERY):
    rows = [row for row, own in enumerate(domains) if domain in (own, EVERY)]
    w = kendall_w(given[rows], [prompts[row] for row in rows])
    alpha, tau = krippendorff_alpha(given[rows]), pairwise(given[rows], "tau_b").mean
    shown_w = with_paper(f"{w.mean.value:.3f}", domain, figures("scrub", "Figure 2C"))
    others = [f"{each.value:.3f}" for each in (alpha, tau)]
    agreement.add_row(domain, str(len(set(w.prompts))), shown_w, *others)
    mean, known = row_means(given), figures("scrub", "Figure 2A, 2B").get(domain, {})
    by_author = [[mean[row] for row in rows if sources[row] == author] for author in authors]
    cells = [f"{np.mean(own):.2f}" if own else "" for own in by_author]
    means.add_row(domain, *(with_paper(cell, author, known)
                            for cell, author in zip(cells, authors, strict=True)))  # fmt: skip
Console().print(agreement)
Console().print(means)

scores = read["ratings"]
card = Table("dimension", title="Mean score ± standard error (the paper)", box=SIMPLE_HEAD)
of_author = {
    author: [row for row, own in enumerate(scores.sources or ()) if own == author]
    for author in authors
}
for author in authors:
    card.add_column(author)
for place, dimension in enumerate((*scores.dimensions, "mean")):
    whole = scores.composite() if dimension == "mean" else scores
    values = row_means(whole.scores[:, :, 0 if dimension == "mean" else place])
    cells = []
    known = figures("scrub", "Figure 3") if dimension == "mean" else {}
    for author, rows in of_author.items():
        of_mean = np.std(values[rows], ddof=1) / len(rows) ** 0.5
        cell = f"{np.mean(values[rows]):.2f} ± {of_mean:.2f}"
        cells.append(with_paper(cell, author, known))
    card.add_row(dimension, *cells)
Console().print(card)

if "calibration-rankings" in read:
    checks = read["calibration-rankings"]
    table = Table("text", "author", "mean rank", title="Items that checked the experts",
                  box=SIMPLE_HEAD)  # fmt: skip
    for item, author, mean in zip(
        checks.items, checks.sources or (), row_means(ranks_of(checks)), strict=True
    ):
        table.add_row(item, author, f"{mean:.2f}")
    Console().print(table)
beside("scrub")
