"""A result with a cell of each kind, by hand; rows of statistics in JSON; conclusions printed."""

from __future__ import annotations

import json
from math import nan
from typing import Any

from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics import Difference, Estimate
from persona_panel.statistics.core.table import Coverage

MEANS = Table(
    "means",
    (
        Key("system", "system"),
        Key("dimension", "dimension", {"composite"}, {"depth": "Depth of it"}),
    ),
    (
        Column("mean", "estimate", "mean", "points", "higher", figure="mean", p_figure="mean_p"),
        Column("weight", "number", "weight", full=True),
        Column("rated", "whole", "rated", figure="rated", of="n"),
        Column("n", "whole"),
        Column("verdict", "text", "verdict", figure="verdict", words=("better", "open")),
        Column("notes", "texts"),
        Column("control", "flag"),
        Column("raw_p", "p"),
    ),
    [
        {
            "system": "alder", "dimension": "composite",
            "mean": Estimate(6.0, 5.5, 6.25, over="prompts", n=12, p=0.01, p_adjusted=0.02,
                             limits=(1.0, 9.0)),
            "weight": 0.5, "rated": 16, "n": 40, "verdict": "better", "notes": ("few", "odd"),
            "control": False, "raw_p": 0.01,
        },
        {
            "system": "=birch", "dimension": "composite",
            "mean": Estimate(5.0, over="prompts", n=1, reason="one prompt alone"),
            "weight": nan, "rated": 2, "n": 40, "verdict": "open", "notes": (), "control": True,
            "raw_p": nan,
        },
        {
            "system": "alder", "dimension": "depth",
            "mean": Estimate(nan, reason="nobody rated it"),
            "weight": 1.0, "rated": 0, "n": 40, "verdict": "open", "notes": (), "control": False,
        },
    ],
    "Means over prompts",
    short={"dimension": {"composite"}},
    remarks=("weight: of the panel.",),
)  # fmt: skip
DIFFERENCES = Table(
    "differences",
    (Key("a", "systems"), Key("b"), Key("dimension", "dimension", {"composite"})),
    (Column("difference", "estimate", "difference", signed=True, figure="difference", p="column"),),
    [
        {
            "a": "alder", "b": "=birch", "dimension": "composite",
            "difference": Difference(1.0, -0.5, 2.5, over="prompts", n=12, p_adjusted=0.2,
                                     a="alder", b="=birch"),
        }
    ],
    "Differences",
    when="full",
    sides=("a", "b"),
)  # fmt: skip
SAMPLE = Result(
    "sample",
    ("Nothing is significant.", "More prompts would."),
    (MEANS, DIFFERENCES),
    ("mean: of all judges.",),
    ("p: adjusted.",),
    reading=("people.csv: 3 items.",),
    source="runs/a",
    coverage=Coverage(40, 38, 0, {"failed": 2}),
    next_step="Score 20 more prompts.",
)

_ESTIMATE = ("value", "low", "high", "level", "over", "n", "p", "p_adjusted", "df", "reason")


def statistics_of(document: str) -> list[dict[str, Any]]:
    """The rows of the table `statistics` in a JSON document, with the fields of their estimates
    beside the others, None where there is none."""
    rows = json.loads(document)["tables"]["statistics"]
    return [dict.fromkeys(_ESTIMATE) | row | row["estimate"] for row in rows]


def concluded_in(printed: str) -> str:
    """What a terminal shows last, below the last empty line, on one line: the conclusion."""
    return " ".join(printed.rstrip().rpartition("\n\n")[2].split())
