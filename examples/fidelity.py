"""Do personas differ as the people they stand for differ? People against three made-up panels.

    python examples/fidelity.py                        on a table that is made up here
    python examples/fidelity.py PATH                   on the media-bias ratings in a folder
    python examples/fidelity.py PATH --model MODEL     and a panel of the political personas

PATH is a folder with ratings.csv (item, rater, opinion), raters.csv (rater, political_ideology,
gender) and sentences.csv (item, text, outlet_side, topic, outlet). The model rates the first 90
sentences of outlets of the left; the panels are made of people's own ratings, so that what they
are is known: `people`, each persona a rating by another person of its group; `threefold`, three
times the difference; `alike`, no difference.
"""

from __future__ import annotations

import csv
import random
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from statistics import mean

from persona_panel import Panel, Response, fidelity

SOURCE = """Where to get the files: github.com/Media-Bias-Group/\
Neural-Media-Bias-Detection-Using-Distant-Supervision-With-BABE (MBIC, raw labels)"""
OUT, SENTENCES = Path("runs/fidelity"), 90
GROUPS = """
groups:
  left: {condition: political_ideology < 0, personas: left-annotator}
  right: {condition: political_ideology > 0, personas: right-annotator}
  women: {condition: gender = female}
  men: {condition: gender = male}
contrasts:
  - left - right
  - {contrast: left - right, within: outlet_side = left}
controls:
  - women - men                # people are not expected to differ
"""
draw = random.Random(1)


def write(name: str, rows: Sequence[Mapping[str, object]]) -> Path:
    """A table as a CSV file."""
    with (OUT / name).open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    return OUT / name


def read(file: Path) -> list[dict[str, str]]:
    if not file.is_file():
        raise SystemExit(f"{file.parent} holds no {file.name}.\n{SOURCE}")
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def made_up() -> tuple[Path, Path, Path]:
    """100 sentences, each rated by ten of 120 people from 0 to 2, the left half a point lower."""
    people = [
        {"rater": f"r{n}", "political_ideology": draw.choice([-6, -3, 3, 6]),
         "gender": draw.choice(["Female", "Male"])}
        for n in range(120)
    ]  # fmt: skip
    items = [{"item": f"s{n}", "outlet_side": ("left", "right")[n % 2]} for n in range(100)]
    given: list[dict[str, object]] = []
    for item in items:
        level = draw.gauss(1, 0.4)
        for one in draw.sample(people, 10):
            shift = -0.25 if int(str(one["political_ideology"])) < 0 else 0.25
            opinion = min(max(round(level + shift + draw.gauss(0, 0.4)), 0), 2)
            given.append({"item": item["item"], "rater": one["rater"], "opinion": opinion})
    ratings, raters = write("ratings.csv", given), write("raters.csv", people)
    return ratings, raters, write("sentences.csv", items)


arguments = sys.argv[1:]
OUT.mkdir(parents=True, exist_ok=True)
if arguments:
    files = [Path(arguments[0]) / f"{name}.csv" for name in ("ratings", "raters", "sentences")]
else:
    files = list(made_up())
ratings, raters, sentences = files
(OUT / "groups.yaml").write_text(GROUPS, "utf-8")


def compared(name: str, panel: Path) -> None:
    """One panel against the people: the verdict on each contrast, and the conclusion."""
    found = fidelity(
        panel,
        ratings,
        raters,
        OUT / "groups.yaml",
        items=sentences,
        dimension="opinion",
        human_mapping={"score": "opinion"},
    )
    print(f"\n{name}")
    for row in found["contrasts"].rows:
        said = f"people {row['human'].text(3)}"
        # Nobody stands for women and men: there people are looked at alone.
        if not isnan(row["panel"].value):
            said += f", panel {row['panel'].number(3)}: {row['verdict']}"
        print(f"  {row['contrast']}, {row['stratum']}: {said}")
    for sentence in found.conclusion:
        print(f"  {sentence}")


# Panels of which we know what they are, made of people's own ratings.
side = {
    row["rater"]: "left" if float(row["political_ideology"]) < 0 else "right"
    for row in read(raters)
    if float(row["political_ideology"])
}
by_item: dict[str, dict[str, list[float]]] = defaultdict(lambda: {"left": [], "right": []})
for row in read(ratings):
    if row["rater"] in side and row["opinion"]:
        by_item[row["item"]][side[row["rater"]]].append(float(row["opinion"]))
both = {item: given for item, given in by_item.items() if given["left"] and given["right"]}
difference = mean(mean(given["left"]) - mean(given["right"]) for given in both.values())

for kind, times in (("people", None), ("threefold", 3.0), ("alike", 0.0)):
    rows: list[dict[str, object]] = []
    for item, given in both.items():
        middle = mean([mean(given["left"]), mean(given["right"])])
        for sign, group in ((0.5, "left"), (-0.5, "right")):
            score = draw.choice(given[group])
            if times is not None:
                score = middle + sign * times * difference + draw.gauss(0, 0.2)
            rows.append({"item": item, "rater": f"{group}-annotator", "score": score})
    compared(f"Simulated panel: {kind}", write(f"{kind}.csv", rows))

if "--model" in arguments:
    model = arguments[arguments.index("--model") + 1]
    chosen = [row for row in read(sentences) if row["outlet_side"] == "left"][:SENTENCES]
    batch = [
        Response(
            id=row["item"], prompt=row["topic"], text=row["text"], system=row["outlet"],
            metadata={"outlet_side": row["outlet_side"]},
        )
        for row in chosen
    ]  # fmt: skip
    Panel("political", model, "media-bias").score(batch, out=OUT / "run")
    compared(f"{model}, {len(batch)} sentences", OUT / "run")
