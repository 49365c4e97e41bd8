"""The judges' reasons as key points: how many they cover, of which sources, judge by judge.

    python examples/key_points.py [FOLDER] [--responses FILE] [--model SPEC …] [--reader SPEC]

Each --model is a judge that gives a reason and a score for every speech; the reader, unless named
the first of them, sums up each judge's reasons in key points for and against the speeches. A line
says how often a judge makes a key point of each source's speeches; what no key point covers is
"other". Without --model judges and reader are scripted: that shows the path, and no finding. Runs
and answers are kept in FOLDER (key-points-example if left out); started again, it goes on there.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from shared import command, models_or_scripted

from persona_panel.testing import Answer, ok

RESPONSES = Path(__file__).with_name("debate_speeches.jsonl")
MOST = 3
"""Key points for and against that are kept, as many as in the paper's Figure 7."""
PRO = ("It gives an example.", "It is easy to follow.", "It opens well.", "It sounds sincere.")
CON = ("It ignores the other side.", "It is too short.", "Its claims lack reasons.", "It rambles.")


def script(_: int, payload: Mapping[str, Any]) -> Answer:
    """A judge who says some of these sentences, and a reader who takes each for a point."""
    said = payload["messages"][-1]["content"]
    asked = payload.get("response_format", {}).get("json_schema", {}).get("schema", {})
    if "points" in asked.get("properties", {}):
        reasons = re.split(r"</?reasons.*?>", said)[1]
        points = [
            {"quote": each, "point": each, "stance": "pro" if each in PRO else "con"}
            for each in (*PRO, *CON)
            if each in reasons
        ]
        return ok(json.dumps({"points": points}))
    if "key_points" in asked.get("properties", {}):
        return ok(json.dumps({"key_points": [each for each in (*PRO, *CON) if each in said]}))
    if asked.get("properties"):
        return ok(json.dumps(dict.fromkeys(asked["properties"])))
    drawn = sha256(f"{payload['model']} {said}".encode()).digest()
    reasons = " ".join(each for each, byte in zip((*PRO, *CON), drawn, strict=False) if byte % 3)
    return ok(f'<scratchpad>{reasons}</scratchpad>{{"good_opening": {1 + drawn[9] % 5}}}')


parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
parser.add_argument("folder", nargs="?", type=Path, default=Path("key-points-example"))
parser.add_argument("--responses", type=Path, default=RESPONSES, help="speeches to judge")
parser.add_argument("--model", action="append", metavar="SPEC", help="a judge; repeatable")
parser.add_argument("--reader", metavar="SPEC", help="the model that sums up")
options = parser.parse_args()
options.folder.mkdir(parents=True, exist_ok=True)

scripted = ("openai:scripted-one", "openai:scripted-two")
with models_or_scripted(options.model, scripted, script, options.folder) as judges:
    runs = {judge: options.folder / f"judge-{n}" for n, judge in enumerate(judges, 1)}
    for judge, run in runs.items():
        command("score", options.responses, "--rubric", "debate-speech", "--personas", "none",
                "--elicitation", "justified", "--model", judge, "--out", run)  # fmt: skip
        command("keypoints", run, "--model", options.reader or judges[0], "--most", str(MOST))

for judge, run in runs.items():
    kept = json.loads((run / "keypoints.json").read_bytes())
    shares = kept["shares"]["system"]
    sources = list(dict.fromkeys(each["group"] for each in shares))
    table = Table("", "key point", "all", *sources, title=f"Key points of {judge}", box=SIMPLE_HEAD)
    for point in kept["key_points"]:
        of = {
            each["group"]: f"{each['share']:.0%}"
            for each in shares
            if (each["stance"], each["key_point"]) == (point["stance"], point["text"])
        }
        own = [of.get(source, "") for source in sources]
        table.add_row(point["stance"], point["text"], f"{point['share']:.0%}", *own)
    Console().print(table)
    # A rationale that makes a point twice counts once.
    made = sum(point["n"] for point in kept["key_points"])
    other = sum(each["n"] for each in kept["key_points"] if each["text"].startswith("other ("))
    pro = next(each["share"] for each in kept["pro_share_of_points"]["all"])
    print(
        f"Key points cover {(made - other) / made:.0%} of {made} points; {pro:.0%} of them speak "
        "for the speeches."
        if made
        else "No key point came out."
    )
