"""One model asked twenty times: are twenty samples twenty raters?

    python examples/dialogue_panel.py PATH

PATH is a folder with chatgpt_panel_scores.jsonl, where each line has the 20 sampled `scores`
of an `item` on a dimension `dim`, asked in one of several
ways, `variant`; and with items.jsonl, the ratings of the same replies by three people each.
A score of 0 could not be read, and is a gap here; on groundedness, where people give 0 or 1,
the file does not tell such a 0 from one that was given, so all count.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from persona_panel.statistics import (
    correlation,
    effective_judges,
    human_ceiling,
    krippendorff_alpha,
    row_means,
)

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError:
    raise SystemExit("The plot needs matplotlib: pip install 'persona-panel[plots]'") from None

SOURCES = """Where to get the files:
  chatgpt_panel_scores.jsonl   github.com/d223302/A-Closer-Look-To-LLM-Evaluation
  items.jsonl                  Topical-Chat ratings, github.com/Baidicoot/JUDGE-BENCH"""
SAMPLES = 20
PICTURE = Path("dialogue_panel.png")
ASKED_OF_PEOPLE = {
    "naturalness": "Natural",
    "coherence": "Maintains Context",
    "engagingness": "Engaging",
    "groundedness": "Uses Knowledge",
}

if len(sys.argv) != 2:
    raise SystemExit(__doc__)
path = Path(sys.argv[1])
files = path / "items.jsonl", path / "chatgpt_panel_scores.jsonl"
print(SOURCES)
for file in files:
    if not file.is_file():
        raise SystemExit(f"{path} holds no {file.name}.")
items, panels = ([json.loads(line) for line in file.open(encoding="utf-8")] for file in files)

# People's scores (items, people) on each dimension: three of five rated an item.
people = sorted({person for item in items for person in item["annotators"]})
place = {item["item"]: row for row, item in enumerate(items)}
humans = {name: np.full((len(items), len(people)), np.nan) for name in ASKED_OF_PEOPLE}
for name, asked in ASKED_OF_PEOPLE.items():
    for row, item in enumerate(items):
        for person, score in zip(item["annotators"], item[asked], strict=True):
            humans[name][row, people.index(person)] = score

# The samples (items, 20) of each way of asking, a score that could not be read a gap.
samples: dict[tuple[str, str], np.ndarray] = {}
for line in panels:
    of = samples.setdefault((line["dim"], line["variant"]), np.full((len(items), SAMPLES), np.nan))
    scores = np.array(line["scores"], dtype=float)
    gaps = (scores == 0) & (line["dim"] != "groundedness")
    of[place[line["item"]]] = np.where(gaps, np.nan, scores)

table = Table(
    "dimension",
    "asked by",
    "items",
    "gaps",
    "α of\nsamples",
    "independent\nsamples",
    "τ_b",
    "r",
    "τ_b of\na person",
    title="The mean of 20 samples against the mean of people",
    box=SIMPLE_HEAD,
)
for (dimension, variant), scores in sorted(samples.items()):
    theirs, mean = humans[dimension], row_means(scores)
    rated = ~np.isnan(mean)
    figures = (
        krippendorff_alpha(scores),
        effective_judges(scores, row_means(theirs)),
        correlation(mean, row_means(theirs), "tau_b"),
        correlation(mean, row_means(theirs), "pearson"),
        human_ceiling(theirs[rated], "tau_b"),
    )
    cells = [one.reason or f"{one.value:.3f}" for one in figures]
    gaps = f"{np.isnan(scores[rated]).mean():.1%}"
    table.add_row(dimension, variant, str(rated.sum()), gaps, *cells)
Console().print(table)
print("Independent samples: how many there would be if what they say beyond people's mean")
print(f"were unrelated; {SAMPLES} if they were {SAMPLES} raters, 1 if all said the same.")

figure = Figure(figsize=(11, 7), layout="constrained")
charts = figure.subplots(2, 2, sharex=True).flat
for axes, dimension in zip(charts, ASKED_OF_PEOPLE, strict=True):
    target = row_means(humans[dimension])
    for variant in sorted({variant for name, variant in samples if name == dimension}):
        scores = samples[dimension, variant]
        taus = [
            correlation(row_means(scores[:, : n + 1]), target, "tau_b").value
            for n in range(SAMPLES)
        ]
        axes.plot(range(1, SAMPLES + 1), taus, label=variant)
    ceiling = human_ceiling(humans[dimension], "tau_b").value
    axes.axhline(ceiling, color="black", linestyle=":", label="a person")
    axes.set(title=dimension, xlabel="samples in the mean", ylabel="τ_b with people's mean")
charts[0].set_xticks(range(2, SAMPLES + 1, 2))
figure.legend(*charts[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
figure.savefig(PICTURE, dpi=150)
print(f"The plot is in {PICTURE}")
