"""Results as CSV: a line for each cell."""

from __future__ import annotations

import csv

from tests.helpers.results import SAMPLE


def test_csv_has_a_line_for_each_cell() -> None:
    """All rows, whether in short or full, with the keys of all tables; numbers unrounded, what is
    undefined empty with its reason; no cell is a formula."""
    assert SAMPLE.text("csv") == SAMPLE.text("csv", full=True)
    lines = list(csv.DictReader(SAMPLE.text("csv").splitlines()))
    assert list(lines[0]) == [
        "table", "system", "dimension", "a", "b", "column", "text", "value", "low", "high", "p",
        "p_adjusted", "n",
    ]  # fmt: skip
    of = {(one["system"], one["dimension"], one["column"]): one for one in lines}
    mean = of["alder", "composite", "mean"]
    assert (mean["value"], mean["low"], mean["high"]) == ("6.0", "5.5", "6.25")
    assert (mean["p"], mean["p_adjusted"], mean["n"]) == ("0.01", "0.02", "12")
    lacking = of["alder", "depth", "mean"]
    assert (lacking["text"], lacking["value"]) == ("nobody rated it", "")
    assert of["'=birch", "composite", "weight"]["value"] == ""
    assert of["alder", "composite", "rated"]["value"] == "16"
    assert of["alder", "composite", "verdict"]["text"] == "better"
    assert of["alder", "composite", "notes"]["text"] == "few; odd"
    assert of["alder", "composite", "control"]["text"] == "false"
    [difference] = [one for one in lines if one["table"] == "differences"]
    assert (difference["a"], difference["b"], difference["value"]) == ("alder", "'=birch", "1.0")
