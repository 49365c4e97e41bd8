"""People and judges on debate speeches: how well does a judge stand in for a person?

    python examples/debate_speeches.py PATH [--no-panel]

PATH is a folder with data.csv, speeches and their ratings by people: `goodopeningspeech`
lists the scores, `labeler_ids` who gave each. judge_*.csv beside it (id, score) are other
judges. A panel of five personas on the embedded model reads a sample of the speeches, and
goes on from runs/debate-speeches when it is run again; `--no-panel` leaves it out.

Where there are four judges or more, ensembles of them are chosen by τ_c with people on other
topics: the better half and the other half, each compared with its members on the topics left out.
"""

from __future__ import annotations

import ast
import csv
import sys
from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from persona_panel import Panel, Response, load_ratings
from persona_panel.statistics import (
    correlation,
    ensembles_on_other_items,
    human_ceiling,
    row_means,
    score_distributions,
    source_means,
    substitution,
)

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError:
    raise SystemExit("The plot needs matplotlib: pip install 'persona-panel[plots]'") from None

SOURCES = """Where to get the files:
  data.csv      github.com/noy-sternlicht/Debatable-Intelligence
  judge_*.csv   the scores of any judge; judge_qwen3-8b.csv: github.com/robert-e-roy/debatebench"""
SAMPLE, SHARED, SHARED_IN_SAMPLE, LEAST_JUDGES = 12, 50, 5, 4
RUN, PICTURE = Path("runs/debate-speeches"), Path("debate_speeches.png")

NO_PANEL = sys.argv[2:] == ["--no-panel"]
if len(sys.argv) != 2 + NO_PANEL:
    raise SystemExit(__doc__)
path = Path(sys.argv[1])
print(SOURCES)
if not (path / "data.csv").is_file():
    raise SystemExit(f"{path} holds no data.csv.")


def read(file: Path) -> list[dict[str, str]]:
    csv.field_size_limit(2**30)
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


# Who gave which speech which score: (speeches, people), NaN where nobody was asked.
speeches = read(path / "data.csv")
sources = [speech["source"] for speech in speeches]
given = [
    dict(zip(*map(ast.literal_eval, (one["labeler_ids"], one["goodopeningspeech"])), strict=True))
    for one in speeches
]
people = sorted({person for one in given for person in one})
humans = np.array([[one.get(person, np.nan) for person in people] for one in given])

judges = {}
for file in sorted(path.glob("judge_*.csv")):
    scores = {row["id"]: float(row["score"]) for row in read(file)}
    judges[file.stem.removeprefix("judge_")] = np.array(
        [scores.get(speech["id"], np.nan) for speech in speeches]
    )

# The embedded panel reads a sample; each speech's score is the mean of its personas.
sample = np.sort(np.random.default_rng(0).permutation(len(speeches))[:SAMPLE])
embedded = None
if not NO_PANEL:
    batch = [
        Response(id=one["id"], prompt=one["topic"], text=one["text"], system=one["source"])
        for one in (speeches[place] for place in sample)
    ]
    run = Panel("disciplinary", "local:smollm2-135m", "debate-speech").score(batch, out=RUN)
    ratings = load_ratings(RUN)
    means = dict(zip(ratings.items, row_means(ratings.scores[:, :, 0]), strict=True))
    embedded = np.array([means[f"{one.prompt_id}/{one.id}"] for one in run.items])

table = Table(
    "judge", "speeches", "pairs of\npeople", box=SIMPLE_HEAD, title="Judges against people"
)
for heading in ("κ of\npeople", "κ, judge\nfor one", "τ_c of\na person", "τ_c of\nthe judge"):
    table.add_column(heading)
table.add_column("r over\nsources")


def compare(name: str, judge: np.ndarray, places: np.ndarray, shared: int) -> None:
    """Quadratic κ, with one of each pair replaced by the judge; τ_c with the mean person."""
    theirs = humans[places]
    kappa = substitution(theirs, judge, min_shared=shared)
    figures = (
        kappa.humans.with_zeros,
        kappa.panel.with_zeros,
        human_ceiling(theirs, "tau_c").mean,
        correlation(judge, row_means(theirs), "tau_c"),
        source_means(judge, theirs, [sources[place] for place in places]).pearson,
    )
    row = [f"{figure.value:.3f}" if figure.reason is None else figure.reason for figure in figures]
    table.add_row(name, str(len(places)), str(kappa.humans.n_pairs), *row)


everything = np.arange(len(speeches))
for name, judge in judges.items():
    compare(name, judge, everything, SHARED)
for name, judge in judges.items():
    compare(f"{name}, sample", judge[sample], sample, SHARED_IN_SAMPLE)
if embedded is not None:
    compare("embedded panel, sample", embedded, sample, SHARED_IN_SAMPLE)
Console().print(table)
if len(judges) >= LEAST_JUDGES:
    topics = [one["topic"] for one in speeches]
    by_judge = np.stack(list(judges.values()), axis=1)
    table = Table(
        "ensemble", "τ_c", "τ_c of its\nmembers", box=SIMPLE_HEAD, title="Chosen on other topics"
    )
    for one in ensembles_on_other_items(by_judge, row_means(humans), topics):
        table.add_row(one.half, f"{one.tau_c.value:.3f}", f"{one.members:.3f}")
    Console().print(table)
print(f"Pairs of people share {SHARED} speeches or more, in the sample {SHARED_IN_SAMPLE}.")
print("A model of 135 million parameters is for demonstration only.")

figure = Figure(figsize=(11, 4.5), layout="constrained")
left, right = figure.subplots(1, 2)
sides = {"people": humans, **judges}
if embedded is not None:
    sides["embedded panel (sample)"] = np.round(embedded)
found = score_distributions(*sides.values())
table = Table(
    "who", "score", "share", "mean", box=SIMPLE_HEAD, title="How often each score is given"
)
for place, (name, own) in enumerate(sides.items()):
    for value, share in zip(found.values, found.shares[place], strict=True):
        first = value == found.values[0]
        mean = f"{np.nanmean(own):.2f}" if first else ""
        table.add_row(name if first else "", f"{value:g}", f"{share:.2f}", mean)
Console().print(table)
table = Table("source", "people", *judges, box=SIMPLE_HEAD, title="Mean score by source")
by_source = [source_means(judge, humans, sources) for judge in judges.values()]
for place, source in enumerate(by_source[0].sources if by_source else ()):
    theirs = by_source[0].humans[place]
    table.add_row(str(source), f"{theirs:.2f}", *(f"{one.panel[place]:.2f}" for one in by_source))
Console().print(table)
width = 0.8 / len(sides)
for place, name in enumerate(sides):
    left.bar(
        found.values + (place - (len(sides) - 1) / 2) * width,
        found.shares[place],
        width,
        label=name,
    )
left.set(xlabel="score", ylabel="share", title="How often each score is given")
left.legend()
for name, judge in judges.items():
    points = source_means(judge, humans, sources)
    right.scatter(points.humans, points.panel, label=name)
    for source, x, y in zip(points.sources, points.humans, points.panel, strict=True):
        right.annotate(str(source), (x, y), xytext=(4, 4), textcoords="offset points", fontsize=8)
right.plot([1, 5], [1, 5], color="grey", linewidth=0.8)
right.set(
    xlabel="people's mean", ylabel="judge's mean", title="Means by source", xlim=(1, 5), ylim=(1, 5)
)
right.legend(loc="lower right")
figure.savefig(PICTURE, dpi=150)
print(f"The plot is in {PICTURE}")
