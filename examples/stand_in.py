"""May a model's panel stand in for people? Tables of τ, ω, ρ, votes and fidelity on public ratings.

    python examples/stand_in.py PATH                             the embedded model
    python examples/stand_in.py PATH --model local:my-own.gguf   a GGUF file, or provider:name
    python examples/stand_in.py PATH --texts 149 --drawn 40      more texts; how many of them twice

PATH is a folder with ratings.csv, raters.csv and sentences.csv (media bias: item, rater, biased,
opinion; rater, political_ideology; item, text, outlet_side, topic, outlet) or, in place of the
last, comments.csv (offensiveness: item, rater, offensiveness; rater, age; item, text). Files of
your own with these columns will do. Of sentences those of outlets of the centre are taken.

Two panels rate the texts: one by the model's probabilities, each persona and a judge without a
persona once; one, which may rate fewer of them (--drawn), by what the model writes at temperature
1, with the judge without a persona asked as often as there are personas. Started again, it goes on
where it stopped.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import combinations
from math import isnan
from pathlib import Path
from typing import NamedTuple

from persona_panel import (
    NO_PERSONA,
    ModelConfig,
    Panel,
    PersonaSet,
    Ratings,
    Response,
    fidelity,
    load_aligned_ratings,
    load_definition,
    score_result,
)
from persona_panel import votes as effective_votes
from persona_panel.personas import shipped
from persona_panel.statistics import AnalysisOptions, correlate

SOURCES = """Where to get the files:
  sentences.csv  github.com/Media-Bias-Group/Neural-Media-Bias-Detection-Using-Distant-Supervision-\
With-BABE (MBIC, raw labels)
  comments.csv   github.com/Jiaxin-Pei/Potato-Prolific-Dataset (POPQUORN, offensiveness)"""
LEAST_ITEMS, EPSILON = 30, 0.1
"""Of the alternative annotator test: who rated fewer is left out; people from a crowd."""
SHORT = {"tau_b": "τ_b", "alt_test_winning_rate": "ω", "alt_test_advantage": "ρ"}


class DataSet(NamedTuple):
    """What is rated, by whom, on which dimensions, and which groups of people are compared."""

    texts: str
    rubric: str
    personas: str
    chosen: tuple[str, ...]
    dimensions: tuple[str, ...]
    groups: str


DATA_SETS = (
    DataSet(
        "sentences.csv",
        "media-bias",
        "political",
        ("left-annotator", "centre-annotator", "right-annotator"),
        ("biased", "opinion"),
        """
groups:
  left: {condition: political_ideology < 0, personas: left-annotator}
  right: {condition: political_ideology > 0, personas: right-annotator}
contrasts: [left - right]
""",
    ),
    DataSet(
        "comments.csv",
        "offensiveness",
        "demographic",
        ("aged-18-to-34", "aged-50-or-more"),
        ("offensiveness",),
        """
groups:
  young: {condition: 'age in (18-24, 25-29, 30-34)', personas: aged-18-to-34}
  old: {condition: 'age in (50-54, 54-59, 60-64, ">65")', personas: aged-50-or-more}
contrasts: [young - old]
""",
    ),
)


def read(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def sample(data: DataSet, path: Path, n: int) -> list[dict[str, str]]:
    """The texts: sentences of outlets of the centre; of comments first those of two people who
    rated 30 each, as the annotator test leaves out people with fewer."""
    texts = read(path / data.texts)
    if "outlet_side" in texts[0]:
        return [row for row in texts if row["outlet_side"] == "center"][:n]
    rated: dict[str, set[str]] = defaultdict(set)
    for row in read(path / "ratings.csv"):
        rated[row["rater"]].add(row["item"])
    often = sorted(rater for rater, items in rated.items() if len(items) >= LEAST_ITEMS)
    both = min((rated[a] | rated[b] for a, b in combinations(often, 2)), key=len, default=set())
    return sorted(texts, key=lambda row: row["item"] not in both)[:n]


def people_file(data: DataSet, path: Path, kept: set[str], out: Path) -> Path:
    """People's ratings of these texts, a line for each rating and dimension."""
    file = out / "people.csv"
    with file.open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(["item", "rater", "dimension", "score"])
        for row in read(path / "ratings.csv"):
            if row["item"] in kept:
                table.writerows(
                    [row["item"], row["rater"], name, row[name]] for name in data.dimensions
                )
    return file


def told(value: float, low: float, high: float, digits: int = 2) -> str:
    """A figure with its 95 % interval."""
    if isnan(value):
        return "–"
    ends = "" if isnan(low) else f" [{low:.{digits}f}, {high:.{digits}f}]"
    return f"{value:.{digits}f}{ends}".replace("-", "−")


def against_people(panel: Ratings, people: Ratings, dimension: str) -> list[str]:
    """τ_b with people's mean, ω and ρ of the mean of these judges."""
    names = "tau_b", "alt_test_winning_rate", "alt_test_advantage"
    alone = replace(panel, groups=("panel",) * len(panel.raters), controls=frozenset())
    rows = correlate(alone, people, AnalysisOptions(epsilon=EPSILON), only=names)
    found = {
        row.statistic: row
        for row in rows
        if (row.group, row.dimension, row.by) == ("panel", dimension, None)
    }
    for name in names:
        if found[name].reason:
            notes.setdefault(f"{SHORT[name]} is undefined: {found[name].reason}.")
    return [told(found[name].value, found[name].ci_low, found[name].ci_high) for name in names]


def table(*rows: Sequence[str]) -> None:
    """A table in Markdown."""
    heads, *lines = rows
    for row in (heads, ["---"] * len(heads), *lines):
        print(f"| {' | '.join(row)} |")
    print()


parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
)
parser.add_argument("path", type=Path, metavar="PATH")
parser.add_argument("--model", default="local:smollm2-135m")
parser.add_argument("--texts", type=int, default=60, help="how many (60)")
parser.add_argument("--drawn", type=int, help="how many are rated at temperature 1, too (all)")
parser.add_argument("--out", type=Path, default=Path("runs/stand-in"), help="(runs/stand-in)")
options = parser.parse_args()
data = next((one for one in DATA_SETS if (options.path / one.texts).is_file()), None)
if data is None:
    print(SOURCES)
    sys.exit(f"{options.path} holds no sentences.csv or comments.csv.")

out = options.out / data.rubric
out.mkdir(parents=True, exist_ok=True)
texts = sample(data, options.path, options.texts)
people_csv = people_file(data, options.path, {row["item"] for row in texts}, out)
(out / "groups.yaml").write_text(data.groups, "utf-8")
batch = [
    Response(
        id=row["item"], prompt_id=row["item"], prompt=row.get("topic") or "A comment",
        text=row["text"], system=row.get("outlet") or "comment",
    )
    for row in texts
]  # fmt: skip
every = load_definition(shipped()[data.personas], PersonaSet).personas
personas = [one for one in every if one.id in data.chosen]
writing = ModelConfig(model=options.model, temperature=1.0)
panels = {
    "probabilities": Panel(
        [*personas, NO_PERSONA], options.model, data.rubric, elicitation="expected"
    ),
    "drawn": Panel(personas, [writing], data.rubric, elicitation="dimensions", plain_judge=True),
}
n_texts = {"probabilities": len(batch), "drawn": min(options.drawn or len(batch), len(batch))}
for name, panel in panels.items():
    run = panel.score(batch[: n_texts[name]], out=out / name)
    there, expected = run.coverage.scored, run.coverage.expected
    print(f"{name}: {there:,} of {expected:,} judgments", file=sys.stderr)
    if not there:
        sys.exit("\n".join(score_result(run).conclusion))

notes: dict[str, None] = {}
n_people = 0
compared, votes, differences = [], [], []
for name in panels:
    ours, people = load_aligned_ratings(out / name, people_csv, allow_unmatched=True)
    n_people = len(people.raters)
    plain = [rater for rater in ours.raters if rater in ours.controls]
    sides = {"judge without a persona": plain[:1]}
    if len(plain) > 1:
        sides[f"its {len(plain)} replicates"] = plain
    sides[f"{len(personas)} personas"] = [one for one in ours.raters if one not in plain]
    for dimension in data.dimensions:
        for side, raters in sides.items():
            figures = against_people(ours.by(raters), people, dimension)
            compared.append((name, str(n_texts[name]), dimension, side, *figures))
    found = effective_votes(out / name, people_csv, allow_unmatched=True)
    for each in found["sources"].rows:
        estimate, of = each["votes"], (each["source"], each["dimension"])
        interval = told(estimate.value, estimate.low, estimate.high)
        votes.append((name, of[1], f"{each['n_judges']} {of[0]}", interval))
        if estimate.reason:
            notes.setdefault(f"Votes of {of[0]}, {name}, {of[1]}: {estimate.reason}.")
    notes.update(dict.fromkeys(f"{name}: {said}" for said in found.conclusion))
    contrasts = fidelity(
        out / name, people_csv, options.path / "raters.csv", out / "groups.yaml",
        allow_unmatched=True,
    )["contrasts"]  # fmt: skip
    for row in contrasts.rows:
        pairs = ((row["human"], 3), (row["panel"], 3), (row["ratio"], 2))
        cells = [told(one.value, one.low, one.high, digits) for one, digits in pairs]
        differences.append((name, row["contrast"], row["dimension"], *cells, row["verdict"]))

print(f"{options.model} on {len(batch)} texts, {date.today()}; people: {n_people}\n")
table(("panel", "texts", "dimension", "judges", "τ_b", "ω", "ρ"), *compared)
table(("panel", "dimension", "judges", "votes"), *votes)
table(("panel", "contrast", "dimension", "people", "personas", "ratio", "verdict"), *differences)
for note in notes:
    print(f"- {note}")
