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
from math import isnan
from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from persona_panel import InputError, load_aligned_ratings
from persona_panel.statistics import (
    Statistic,
    by_prompt,
    correlation_test,
    kendall_w,
    pairwise,
    row_means,
)

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


def w_of(scores: np.ndarray, n_permutations: int = 0) -> tuple[Statistic, dict[object, Statistic]]:
    """Kendall's W as the SCRuB paper has it, without a correction for ties: its mean, and that of
    each prompt. Where all raters tie everything there is none, and its 0 is in no mean: it would
    not mean that they disagree."""
    tied = kendall_w(scores, prompts, correct_ties=True)
    found = dict(zip(tied.prompts, tied.values, strict=True))
    rows = [row for row, prompt in enumerate(prompts) if found[prompt].reason is None]
    if not rows:
        return tied.mean, found
    own = [prompts[row] for row in rows]
    plain = kendall_w(scores[rows], own, n_permutations=n_permutations)
    return plain.mean, found | dict(zip(plain.prompts, plain.values, strict=True))


def shown(found: Statistic) -> str:
    """A value, or why there is none."""
    return f"{found.value:.3f}" if found.reason is None else f"undefined: {found.reason}"


def shown_p(found: Statistic) -> str:
    """A p-value, nothing where there is none."""
    return "" if isnan(found.p_value) else f"{found.p_value:.3f}"


taus = {}
for name, scores in ensembles.items():
    tau = correlation_test(row_means(scores), target, "tau_b", prompts)
    w, _ = w_of(scores, PERMUTATIONS)
    taus[name] = tau.value
    table.add_row(name, str(scores.shape[1]), shown(tau), shown_p(tau), shown(w), shown_p(w))
among = by_prompt(lambda items: pairwise(-ranks[items], "tau_b").mean, prompts, len(ranks)).mean
w, of_people = w_of(ranks, PERMUTATIONS)
table.add_row(
    "people, among themselves", str(ranks.shape[1]), shown(among), "", shown(w), shown_p(w)
)
Console().print(table)

table = Table(
    "prompt", "W of people", "W of the ensemble", title="Kendall's W per prompt", box=SIMPLE_HEAD
)
of_judges = w_of(ours)[1]
for prompt, theirs in of_people.items():
    table.add_row(str(prompt), shown(theirs), shown(of_judges[prompt]))
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
