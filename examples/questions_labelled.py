"""Critical questions from the model to the agreement: asked, matched, labelled, compared.

    python examples/questions_labelled.py [FOLDER] [--references FILE] [--model SPEC]
                                          [--labeller SPEC …]

--model asks three critical questions about every intervention. Each takes the label of the
reference that asks the same, as that model finds, or is not evaluable; every --labeller, unless
named the model, labels it directly, by the rubric `critical-question`. Then comes Cohen's κ between
all of them, first over what both label and then with "not evaluable" as a label of its own, as in
the critical-questions paper (Figure 3). --references has labelled questions: prompt_id, id, context
(the intervention), response (the question) and label. Without it they are the questions of
critical_questions.jsonl with labels by the author of this script; without --model the replies are
scripted: that shows the path, and no finding. Files are kept in FOLDER (questions-example if left
out); started again, it goes on there.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
from collections.abc import Mapping
from contextlib import ExitStack, redirect_stdout
from hashlib import sha256
from io import StringIO
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from persona_panel import load_ratings
from persona_panel.cli.main import command as persona_panel
from persona_panel.statistics import cohen_kappa
from persona_panel.testing import Answer, ok, serving

QUESTIONS = Path(__file__).with_name("critical_questions.jsonl")
LABELS = {
    "pool": {"a": "useful", "b": "useful", "c": "invalid", "d": "unhelpful", "e": "invalid"},
    "cafe": {"a": "useful", "b": "useful", "c": "unhelpful", "d": "invalid"},
}
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


def command(*words: str | Path) -> str:
    """Run a command and return what it prints; its exit status is 1 where answers are missing."""
    print("$ persona-panel", *words, flush=True)
    with redirect_stdout(StringIO()) as printed:
        try:
            persona_panel.main([str(word) for word in words], prog_name="persona-panel")
        except SystemExit as ended:
            if ended.code not in (None, 0, 1):
                raise
    return printed.getvalue()


def written(file: Path, lines: list[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return file


parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
parser.add_argument("folder", nargs="?", type=Path, default=Path("questions-example"))
parser.add_argument("--references", type=Path, help="labelled questions")
parser.add_argument("--model", metavar="SPEC", help="asks the questions, and matches them")
parser.add_argument("--labeller", action="append", metavar="SPEC", help="repeatable")
options = parser.parse_args()
folder = options.folder
folder.mkdir(parents=True, exist_ok=True)
lines = (options.references or QUESTIONS).read_text("utf-8").splitlines()
known = [json.loads(line) for line in lines if line.strip()]
if options.references is None:
    known = [each | {"label": LABELS[each["prompt_id"]][each["id"]]} for each in known]
references = written(folder / "references.jsonl", known)
interventions = written(
    folder / "interventions.jsonl",
    [
        {"id": name, "intervention": text}
        for name, text in {each["prompt_id"]: each["context"] for each in known}.items()
    ],
)
asked, labels = folder / "asked.jsonl", dict[str, dict[str, str]]()
with ExitStack() as stack:
    model = options.model or "openai:scripted"
    labellers = options.labeller or [model, *([] if options.model else ["openai:scripted-other"])]
    if not options.model:
        server = stack.enter_context(serving(script))
        os.environ["PERSONA_PANEL_CACHE"] = str(folder / "cache")
        os.environ |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
    command("questions", "ask", interventions, "--model", model, "--out", asked)
    found = command("questions", "match", asked, references, "--by", "model", "--model", model,
                    "--json")  # fmt: skip
    command("score", asked, "--rubric", "critical-question", "--personas", "none",
            *(word for each in labellers for word in ("--model", each)),
            "--out", folder / "run")  # fmt: skip

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
