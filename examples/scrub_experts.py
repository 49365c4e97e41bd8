"""SCRuB's experts: how far they agree, and how they rank and score people's and models' essays.

    python examples/scrub_experts.py PATH

PATH is the folder of the published data, or task2_human_judgments.csv alone. Printed are the
figures of the paper's full study (section 6; Figures 2 and 3): the mean of Kendall's W over
prompts, ordinal α over texts and the mean of τ_b over pairs of experts, each by domain; mean ranks
by author and domain; mean scores by author and dimension with standard errors over texts. Items
that checked the experts are left out of all, and stand in a table of their own. For a panel beside
the experts:

    persona-panel people import scrub PATH --out scrub
    persona-panel score scrub/responses.jsonl --personas perspectives --human scrub/ratings.csv …
    python examples/scrub_panel.py RUN scrub/rankings.csv
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from persona_panel import InputError, load_ratings
from persona_panel.files.published import PUBLISHED, read_published, write_published
from persona_panel.statistics import Ratings, kendall_w, krippendorff_alpha, pairwise, row_means

SOURCE = PUBLISHED["scrub"]
HUMAN, EVERY = "human", "all"

if len(sys.argv) != 2:
    raise SystemExit(__doc__)
print(f"Where to get the files: {SOURCE.where}, {SOURCE.licence}")
with TemporaryDirectory() as folder:
    out = Path(folder) / "scrub"
    try:
        files = write_published("scrub", read_published("scrub", Path(sys.argv[1])), out)
        read = {file.stem: load_ratings(file) for file in files if file.suffix == ".csv"}
    except InputError as error:
        raise SystemExit(str(error)) from None


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
agreement = Table("domain", "prompts", "W", "α", "τ_b", title="Experts", box=SIMPLE_HEAD)
means = Table("domain", title="Mean rank, 1 is best", box=SIMPLE_HEAD)
authors = sorted(set(sources), key=lambda name: (name == HUMAN, name))
for author in authors:
    means.add_column(author)
for domain in (*sorted(set(domains)), EVERY):
    rows = [row for row, own in enumerate(domains) if domain in (own, EVERY)]
    w = kendall_w(given[rows], [prompts[row] for row in rows])
    alpha, tau = krippendorff_alpha(given[rows]), pairwise(given[rows], "tau_b").mean
    figures = [f"{each.value:.3f}" for each in (w.mean, alpha, tau)]
    agreement.add_row(domain, str(len(set(w.prompts))), *figures)
    mean = row_means(given)
    by_author = [[mean[row] for row in rows if sources[row] == author] for author in authors]
    means.add_row(domain, *(f"{np.mean(own):.2f}" if own else "" for own in by_author))
Console().print(agreement)
Console().print(means)

scores = read["ratings"]
card = Table("dimension", title="Mean score ± standard error", box=SIMPLE_HEAD)
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
    for rows in of_author.values():
        of_mean = np.std(values[rows], ddof=1) / len(rows) ** 0.5
        cells.append(f"{np.mean(values[rows]):.2f} ± {of_mean:.2f}")
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
