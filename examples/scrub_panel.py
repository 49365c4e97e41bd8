"""A panel beside people who ranked the same responses.

    python examples/scrub_panel.py RUN HUMAN

RUN is the folder of a run: `persona-panel score examples/responses.jsonl --out RUN`.
HUMAN is a long file (.csv, .jsonl, .parquet) with a line for each rank that a person gave:

    item,rater,rank,prompt,source
    meritocracy/r1,person-1,2,meritocracy,birch

`item` is the run's prompt_id/id, 1 is the best of a prompt, ties share a rank.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from panel import InputError, load_aligned_ratings
from panel.statistics import correlation_test, kendall_w, pairwise_by_prompt, row_means

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError:
    raise SystemExit("The plot needs matplotlib: pip install 'persona-panel[plots]'") from None

SOURCES = """Where to get the files:
  RUN     persona-panel score examples/responses.jsonl --out RUN
  HUMAN   your own study: ranks that people gave the same responses, without seeing the run"""
PERMUTATIONS = 1999
PICTURE = Path("scrub_panel.png")

if len(sys.argv) != 3:
    raise SystemExit(__doc__)
print(SOURCES)
try:
    panel, humans = load_aligned_ratings(*sys.argv[1:])
except InputError as error:
    raise SystemExit(str(error)) from None
if not humans.lower_is_better:
    raise SystemExit(f"{sys.argv[2]} has scores, where ranks are needed.")

# The panel's mean over judges and dimensions, and people's mean rank, of the shared items.
shared = [item for item in panel.items if item in humans.items]
ours = panel.composite().scores[[panel.items.index(item) for item in shared], :, 0]
ranks = humans.composite().scores[[humans.items.index(item) for item in shared], :, 0]
prompt_of = dict(zip(panel.items, panel.prompts or (), strict=True))
source_of = dict(zip(panel.items, panel.sources or (), strict=True))
prompts, sources = [prompt_of[item] for item in shared], [source_of[item] for item in shared]
target = -row_means(ranks)

ensembles = {"ensemble": ours}
for model in dict.fromkeys(panel.groups):
    ensembles[model] = ours[:, [group == model for group in panel.groups]]

table = Table(
    "",
    "raters",
    "mean τ_b",
    "p",
    "W",
    "p of W",
    title="Against the mean human rank",
    box=SIMPLE_HEAD,
)
taus = {}
for name, scores in ensembles.items():
    tau = correlation_test(row_means(scores), target, "tau_b", prompts)
    w = kendall_w(scores, prompts, n_permutations=PERMUTATIONS).mean
    taus[name] = tau.value
    figures = (tau.value, tau.p_value, w.value, w.p_value)
    table.add_row(name, str(scores.shape[1]), *(f"{figure:.3f}" for figure in figures))
among = pairwise_by_prompt(-ranks, prompts, "tau_b").mean
concordance = kendall_w(ranks, prompts, n_permutations=PERMUTATIONS)
w = concordance.mean
table.add_row(
    "people, among themselves",
    str(ranks.shape[1]),
    f"{among.value:.3f}",
    "",
    f"{w.value:.3f}",
    f"{w.p_value:.3f}",
)
Console().print(table)

table = Table(
    "prompt", "W of people", "W of the ensemble", title="Kendall's W per prompt", box=SIMPLE_HEAD
)
ensemble = kendall_w(ours, prompts)
for prompt, theirs, judges in zip(
    concordance.prompts, concordance.values, ensemble.values, strict=True
):
    table.add_row(
        str(prompt), *(f"{w.value:.3f}" if w.reason is None else w.reason for w in (theirs, judges))
    )
Console().print(table)

figure = Figure(figsize=(11, 4.5), layout="constrained")
left, right = figure.subplots(1, 2)
mean = row_means(ours)
for source in sorted(set(sources)):
    mine = np.array([one == source for one in sources])
    left.scatter(-target[mine], mean[mine], label=source)
left.set(
    xlabel="mean human rank (1 is best)",
    ylabel="ensemble's score",
    title="Responses",
)
left.legend()
right.bar(list(taus), list(taus.values()))
right.axhline(among.value, color="black", linestyle=":", label="people among themselves")
right.axhline(0, color="grey", linewidth=0.8)
right.tick_params(axis="x", rotation=20)
right.set(ylabel="τ_b with the mean human rank", title="Ensemble and models")
right.legend()
figure.savefig(PICTURE, dpi=150)
print(f"The plot is in {PICTURE}")
