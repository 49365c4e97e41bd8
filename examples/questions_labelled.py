"""Critical questions from the model to the agreement: asked, matched, labelled, compared.

    python examples/questions_labelled.py [FOLDER] [--references FILE] [--model SPEC]
                                          [--labeller SPEC …]

--model asks three critical questions about every intervention. Each takes the label of the
reference that asks the same, as that model finds, or is not evaluable; every --labeller, unless
named the model, labels it directly, by the rubric `critical-question`. Then comes Cohen's κ between
all of them, first over what both label and then with "not evaluable" as a label of its own, as in
the critical-questions paper (Figure 3). --references has labelled questions: prompt_id, id, context
(the intervention), response (the question) and label. Without it they are the questions of
critical_questions.jsonl, labelled by the author of this script; without --model the replies are
scripted: that shows the path, and no finding. Files are kept in FOLDER (questions-example if left
out); started again, it goes on there.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections.abc import Mapping
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from shared import command, models_or_scripted, plain_faults

from persona_panel import load_ratings, load_responses
from persona_panel.statistics import cohen_kappa
from persona_panel.testing import Answer, ok

QUESTIONS = Path(__file__).with_name("critical_questions.jsonl")
NOT_EVALUABLE = "not evaluable"


def script(_: int, payload: Mapping[str, Any]) -> Answer:
    """A model that asks, finds a reference for two questions of three, and labels."""
    said = payload["messages"][-1]["content"]
    kinds = payload["response_format"]["json_schema"]["schema"]["properties"]
    drawn = sha256(f"{payload['model']} {said}".encode()).digest()
    if "questions" in kinds:
        names = sorted(set(re.findall(r"\b[A-Z][a-z]{3,}\b", said)))
        asked = ("What shows that {} matters here?", "What else could explain it beside {}?",
                 "Would it hold without {}?")  # fmt: skip
        of = zip(asked, (names * 3)[:3], strict=True)
        return ok(json.dumps({"questions": [text.format(name) for text, name in of]}))
    if "reference" in kinds:
        places = kinds["reference"]["enum"][:-1]
        return ok(json.dumps({"reference": (*places, None)[drawn[0] % (len(places) + 1)]}))
    label = ("useful", "unhelpful", "invalid")[drawn[0] % 3]
    reason = {"useful": "no fault", "unhelpful": "too hard", "invalid": "unrelated"}[label]
    return ok(json.dumps({"usefulness": label, "reason": reason}))


parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
parser.add_argument("folder", nargs="?", type=Path, default=Path("questions-example"))
parser.add_argument("--references", type=Path, default=QUESTIONS, help="labelled questions")
parser.add_argument("--model", metavar="SPEC", help="asks the questions, and matches them")
parser.add_argument("--labeller", action="append", metavar="SPEC", help="repeatable")
options = parser.parse_args()
folder = options.folder
folder.mkdir(parents=True, exist_ok=True)
with plain_faults():
    known = load_responses(options.references)
interventions = folder / "interventions.jsonl"
of_name = {each.prompt_id: each.context for each in known}
interventions.write_text("".join(
    json.dumps({"id": name, "intervention": text}) + "\n" for name, text in of_name.items()
), "utf-8")  # fmt: skip
asked, labels = folder / "asked.jsonl", dict[str, dict[str, str]]()
models = [options.model] if options.model else None
scripted = ("openai:scripted", "openai:scripted-other")
with models_or_scripted(models, scripted, script, folder) as given:
    model, labellers = given[0], options.labeller or given
    command("questions", "ask", interventions, "--model", model, "--out", asked)
    found = command("questions", "match", asked, options.references, "--by", "model",
                    "--model", model, "--json", quiet=True)  # fmt: skip
    command("score", asked, "--rubric", "critical-question", "--personas", "none",
            *(word for each in labellers for word in ("--model", each)),
            "--out", folder / "run", quiet=True)  # fmt: skip

# Who gave which question which label; a question without a reference has none of matching.
document = json.loads(found)["tables"]
labels["matched"] = {
    f"{each['prompt_id']}/{each['id']}": each["label"] or NOT_EVALUABLE
    for each in document["matches"]
}
direct = load_ratings(folder / "run")
names = direct.categories["usefulness"]
for column, labeller in enumerate(direct.groups):
    codes = direct.scores[:, column, direct.dimensions.index("usefulness")]
    labels[labeller] = {
        item: names[int(code)]
        for item, code in zip(direct.items, codes, strict=True)
        if not np.isnan(code)
    }
with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file)
    writer.writerow(["item", "rater", "label"])
    writer.writerows([item, who, what] for who, own in labels.items() for item, what in own.items())

[system] = document["systems"]
print(f"{len(labels['matched'])} questions: {system['score']:.2f} useful by matching, "
      f"{system['not_evaluable_share']:.0%} not evaluable")  # fmt: skip
items = sorted(set().union(*labels.values()))
table = Table("", "", "κ, both label", "questions", f'κ, "{NOT_EVALUABLE}"\nas a label',
              title="Cohen's κ of every two ways", box=SIMPLE_HEAD)  # fmt: skip
for first, other in combinations(labels, 2):
    row = []
    for among in (names, (*names, NOT_EVALUABLE)):
        codes_of = {label: float(code) for code, label in enumerate(among)}
        own, others = (
            [codes_of.get(labels[who].get(item, ""), np.nan) for item in items]
            for who in (first, other)
        )
        kappa = cohen_kappa(own, others, weights="none")
        shown = f"{kappa.value:.2f}" if kappa.reason is None else str(kappa.reason)
        row += [shown, str(kappa.n_items)]
    table.add_row(first, other, *row[:3])
Console(width=110).print(table)
print(f"persona-panel agree {folder / 'labels.csv'} --full has the intervals, and κ by label.")
