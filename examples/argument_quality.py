"""Novices on the quality of arguments: how far they agree, and what model raters add.

    python examples/argument_quality.py PATH [--no-panel]

PATH is a folder with novice_ratings_with_text.json: arguments, each with the `ratings` by
dimension and rater, 1 to 3, or "?" where a rater could not tell. Beside α of all ratings stands
that of three of each argument, chosen so that it is highest, and what such a choice makes of
ratings that are dealt out at random. Five personas on the embedded model rate a sample of the
arguments on one dimension, and join the novices one by one; they go on from runs/argument-quality
when the script is run again. `--no-panel` leaves them out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from persona_panel import Dimension, Panel, Response, Rubric, Scale, load_ratings
from persona_panel.statistics import (
    added_raters,
    by_chance,
    jackknife,
    krippendorff_alpha,
    most_agreeing,
    perfect_agreement,
)

try:
    from matplotlib.figure import Figure
except ModuleNotFoundError:
    raise SystemExit("The plot needs matplotlib: pip install 'persona-panel[plots]'") from None

SOURCES = """Where to get the file:
  ratings   github.com/nelliemirz/llms-as-argument-quality-annotators
  texts     github.com/UKPLab/acl2016-convincing-arguments"""
SAMPLE, MIN_RATERS = 40, 3
OVERALL = "all dimensions"
RUN, PICTURE = Path("runs/argument-quality"), Path("argument_quality.png")

CLARITY = Rubric(
    id="clarity-of-argument",
    label="Clarity",
    question="How clear is this argument?",
    dimensions=(
        Dimension(
            id="clarity",
            label="Clarity",
            definition="Whether plain and correct language says what the author means, without "
            "detours and without leaving the reader to guess.",
            guiding_question="Do you know after one reading what is claimed, and why?",
            scale=Scale(min=1, max=3, low="low", high="high"),
        ),
    ),
)

NO_PANEL = sys.argv[2:] == ["--no-panel"]
if len(sys.argv) != 2 + NO_PANEL:
    raise SystemExit(__doc__)
file = Path(sys.argv[1]) / "novice_ratings_with_text.json"
print(SOURCES)
if not file.is_file():
    raise SystemExit(f"{file.parent} holds no {file.name}.")

# Who gave which argument which score, by dimension: (arguments, people), "?" as a gap.
arguments = json.loads(file.read_text("utf-8"))
people = sorted({name for one in arguments for of in one["ratings"].values() for name in of})
dimensions = sorted({dimension for one in arguments for dimension in one["ratings"]})
humans = {name: np.full((len(arguments), len(people)), np.nan) for name in dimensions}
for row, argument in enumerate(arguments):
    for dimension, of in argument["ratings"].items():
        for name, score in of.items():
            if score != "?":
                humans[dimension][row, people.index(name)] = float(score)

table = Table(
    "dimension",
    "ratings",
    "α",
    "95 % interval",
    f"all of {MIN_RATERS}+ agree",
    f"α of {MIN_RATERS} chosen\nto agree",
    "so chosen,\nby chance",
    f"all {MIN_RATERS}\nagree",
    title="Novices on the quality of arguments",
    box=SIMPLE_HEAD,
)
alphas = {}
overall = np.vstack(list(humans.values()))
for dimension, scores in {**humans, OVERALL: overall}.items():
    alpha = krippendorff_alpha(scores)
    # The ratings of an argument on all dimensions are drawn together.
    of_argument = np.tile(range(len(arguments)), len(scores) // len(arguments))
    interval = jackknife(alpha.resampled, len(scores), of_argument, limits=(-1.0, 1.0))
    perfect = perfect_agreement(scores, min_raters=MIN_RATERS)
    # Of each argument the three ratings that make α highest; what that gives without agreement.
    chosen = most_agreeing(scores, MIN_RATERS)
    alphas[dimension] = (alpha.value, interval.low, interval.high)
    table.add_row(
        dimension,
        f"{np.sum(~np.isnan(scores)):,}",
        f"{alpha.value:.3f}",
        "-" if interval.reason else f"{interval.low:.3f} to {interval.high:.3f}",
        f"{perfect.subset.sum()} ({perfect.share.value:.0%})",
        f"{chosen.alpha.value:.3f}",
        f"{by_chance(scores, MIN_RATERS):.3f}",
        str(perfect_agreement(chosen.ratings, min_raters=MIN_RATERS).subset.sum()),
    )
Console().print(table)

if NO_PANEL:
    raise SystemExit

# Model raters on a sample of arguments that two people rated. Novices may give 1, 2 or 3,
# so a persona's mean over its probabilities goes to the nearest of them.
rated = np.flatnonzero(np.sum(~np.isnan(humans["clarity"]), axis=1) >= 2)
sample = np.sort(np.random.default_rng(0).permutation(rated)[:SAMPLE])
batch = [
    Response(id=one["arg"], prompt=one["debate"], text=one["text"], system="debate portal")
    for one in (arguments[place] for place in sample)
]
run = Panel("disciplinary", "local:smollm2-135m", CLARITY).score(batch, out=RUN)
ratings = load_ratings(RUN)
order = [ratings.items.index(f"{one.prompt_id}/{one.id}") for one in run.items]
models = np.round(ratings.scores[order, :, 0])
added = added_raters(humans["clarity"][sample], models)

table = Table(
    "raters",
    "α",
    "change",
    "95 % interval",
    "p",
    "p, adjusted",
    title="Clarity, sample",
    box=SIMPLE_HEAD,
)
table.add_row("novices", f"{added.alphas[0].value:.3f}")
for n, persona in enumerate(ratings.personas or ()):
    table.add_row(
        f"+ {persona}",
        f"{added.alphas[n + 1].value:.3f}",
        f"{added.change[n]:+.3f}",
        f"{added.low[n]:+.3f} to {added.high[n]:+.3f}",
        f"{added.p_value[n]:.3f}",
        f"{added.p_adjusted[n]:.3f}",
    )
Console().print(table)
print("A model of 135 million parameters is for demonstration only.")

figure = Figure(figsize=(11, 4.5), layout="constrained")
left, right = figure.subplots(1, 2)
found = np.array([alphas[dimension] for dimension in dimensions])
errors = np.abs(found[:, 1:] - found[:, :1]).T
left.errorbar(found[:, 0], dimensions, xerr=errors, fmt="o", capsize=3)
left.axvline(0, color="grey", linewidth=0.8)
left.set(xlabel="Krippendorff's α, ordinal", title="Novices, by dimension")
right.plot(range(len(added.alphas)), [alpha.value for alpha in added.alphas], marker="o")
right.set(xlabel="personas added", ylabel="α", title=f"Clarity, {len(sample)} arguments")
figure.savefig(PICTURE, dpi=150)
print(f"The plot is in {PICTURE}")
