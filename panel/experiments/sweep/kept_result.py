"""A sweep as the summary.json of its folder has it, as a result: Δs, scores, variants and answers
that are missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import nan
from typing import Any

from persona_panel.results.conclusions.wording import counted
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.runs.run import Run
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.core.table import Coverage

_ALL = "all dimensions"
_MISSING = 50
_NAMED = 6
_READING = (
    "Δ is baseline − framed, in points: a positive Δ is a degradation. Tinted: the 95 % interval "
    "over prompts leaves out 0. Underlined: the tests are significant, too, after Holm's "
    "correction (p < {:g})."
)


def kept_sweep_result(
    run: Run,
    manifest: Mapping[str, Any],
    summary: Mapping[str, Any],
    titles: Mapping[str, str],
) -> Result:
    """Return the sweep in a run's folder, whose summary.json has it once it came to its end.

    Args:
        manifest, summary: run.json and summary.json.
        titles: the beginnings of prompts, by their ids.
    """
    framings = (manifest.get("sweep") or {}).get("framings") or {}
    labels = {entry["id"]: entry["label"] for entry in framings.get("conditions", ())}
    of = _SweepTables(run, summary["sweep"], labels)
    return Result(
        "sweep",
        summary["conclusion"],
        [of.profiles(), of.heat(), of.deltas(), of.scores(), of.unpaired(), of.unanswered(titles)],
        list(of.remarks()),
        coverage=Coverage(**summary["coverage"]),
    )


class _SweepTables:
    """The parts of summary.json that are of the sweep, and the labels of its conditions."""

    def __init__(self, run: Run, sweep: Mapping[str, Any], labels: Mapping[str, str]) -> None:
        self.run, self.sweep = run, sweep
        self.conditions = {each: labels.get(each, each) for each in sweep["conditions"]}
        self.framed = dict(list(self.conditions.items())[1:])
        dimensions = {entry.id: entry.label for entry in run.rubric.numeric}
        self.dimensions = Key("dimension", "dimension", labels=dimensions)
        self.keys = Key("system", "system"), self.dimensions
        self.condition = Key("condition", "condition", labels=self.conditions)

    def profiles(self) -> Table:
        """Return the profile of each system."""
        rows = [
            {
                "system": entry["system"],
                # Where nothing else degrades, the profile says so.
                "profile": entry["name"]
                + (
                    " (mere rewording degrades it, too)"
                    if entry["rewording"] and entry["kind"] != "none shown"
                    else ""
                ),
            }
            for entry in self.sweep["profiles"]
        ]
        column = Column("profile", "text", "profile")
        return Table("profiles", self.keys[:1], (column,), rows, "Profiles")

    def heat(self) -> Table:
        """Return Δ by dimension and condition, a heat map for each system."""
        measured = {
            (entry["system"], entry.get("dimension", _ALL), entry["condition"]): _estimate(entry)
            for entry in [*self.sweep["cells"], *self.sweep["composites"]]
        }
        columns = tuple(
            Column(f"c{n}", "estimate", label, better="lower")
            for n, label in enumerate(self.framed.values())
        )
        rows = [
            {"system": system, "dimension": name}
            | {f"c{n}": measured[system, name, each] for n, each in enumerate(self.framed)}
            for system in self.sweep["systems"]
            for name in (*self.dimensions.labels, _ALL)
        ]
        said = [_READING.format(self.sweep["level"])]
        threshold = self.sweep["threshold"]
        large = [
            f"{entry['system']}, {self.dimensions.label(entry)} under {self.condition.label(entry)}"
            for entry in self.sweep["cells"]
            if entry["delta"] is not None and abs(entry["delta"]) >= threshold
        ]
        if large:
            more = f"; {len(large) - _NAMED} more" if len(large) > _NAMED else ""
            said.append(f"|Δ| of {threshold:g} or more: {'; '.join(large[:_NAMED])}{more}.")
        title = "Sweep: how framing changes the quality of answers"
        return Table("deltas", self.keys, columns, rows, title, heat=0.0, remarks=said,
                     programs=False)  # fmt: skip

    def deltas(self) -> Table:
        """Return each Δ with its interval and test."""
        columns = Column("delta", "estimate", "Δ", signed=True, p="column"), _whole("n_pairs")
        rows = [{**entry, "delta": _estimate(entry)} for entry in self.sweep["cells"]]
        of = (*self.keys, self.condition)
        return Table("cells", of, columns, rows, "Δ with its interval over prompts", "full")

    def scores(self) -> Table:
        """Return the mean score by condition."""
        means: dict[tuple[str, str], Mapping[str, float]] = {}
        for entry in self.run.leaderboard().systems:
            system, _, condition = entry.system.rpartition("+")
            means[system, condition] = entry.dimensions
        columns = tuple(
            Column(f"c{n}", "number", label) for n, label in enumerate(self.conditions.values())
        )
        rows = [
            {"system": system, "dimension": name}
            | {
                f"c{n}": means.get((system, each), {}).get(name, nan)
                for n, each in enumerate(self.conditions)
            }
            for system in self.sweep["systems"]
            for name in self.dimensions.labels
        ]
        title = "Scorecard: mean score by condition"
        return Table("scores", self.keys, columns, rows, title, "full", programs=False)

    def unpaired(self) -> Table:
        """Return how many pairs of judgments are in no Δ."""
        lacking = {
            (entry["system"], entry["condition"]): entry
            for entry in self.sweep["cells"]
            if entry["n_abstained"] or entry["n_missing"]
        }
        columns = _whole("n_abstained", "abstentions"), _whole("n_missing", "missing")
        title = (
            "Pairs of judgments that are in no Δ, as one of the two is an abstention, or missing"
        )
        of = self.keys[0], self.condition
        return Table("unpaired", of, columns, list(lacking.values()), title, "full")

    def unanswered(self, titles: Mapping[str, str]) -> Table:
        """Return the answers that did not come, and why."""
        missing: Sequence[Mapping[str, Any]] = self.sweep["answers"]["missing"]
        rows = [
            {
                **entry,
                "prompt": titles.get(entry["prompt_id"], entry["prompt_id"]),
                "why": f"{entry['status']}: {entry['error']}"
                if entry["error"]
                else entry["status"],
            }
            for entry in missing[:_MISSING]
        ]
        of = self.keys[0], Key("prompt", "prompt"), self.condition
        title = f"{len(rows)} of {counted(len(missing), 'answer')} that did not come"
        return Table("unanswered", of, (Column("why", "text", "reason"),), rows, title, "full")

    def remarks(self) -> Iterator[str]:
        """Yield how many variants were used and answers received."""
        variants, answers = self.sweep["variants"], self.sweep["answers"]
        if not (variants["made"] or answers["received"] or answers["missing"]):
            return
        given_up = [
            f"{n} under “{self.conditions.get(each, each)}”"
            for each, n in variants["rejected"].items()
        ]
        rejected = f"; given up: {', '.join(given_up)}" if given_up else ""
        yield f"{variants['used']} of {counted(variants['made'], 'variant')} used{rejected}."
        cut_off = f", {answers['cut_off']} of them cut off" if answers["cut_off"] else ""
        missing = f", {len(answers['missing'])} missing" if answers["missing"] else ""
        yield f"{counted(answers['received'], 'answer')} received{cut_off}{missing}."


def _whole(name: str, head: str = "prompts") -> Column:
    return Column(name, "whole", head)


def _estimate(entry: Mapping[str, Any]) -> Estimate:
    value, low, high, p = (
        nan if entry.get(name) is None else float(entry[name])
        for name in ("delta", "ci_low", "ci_high", "p_claim")
    )
    return Estimate(value, low, high, over="prompts", n=entry["n_pairs"], p_adjusted=p)
