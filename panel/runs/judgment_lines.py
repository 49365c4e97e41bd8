"""Judgments as lines of judgments.jsonl: written, read back, gone through and looked up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import orjson

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.limits import json_in, lines_of
from persona_panel.files.wording import shown, unreadable
from persona_panel.graphs import Judge, Judgment
from persona_panel.rubrics import Status, Usage

_STATUSES = frozenset(get_args(Status))
_COUNTS = ("input", "cached", "output", "written", "reasoning")


def judgment_key(prompt_id: str, response_id: str, judge: str) -> tuple[str, str, str]:
    """Return what no two judgments of one round share."""
    return prompt_id, response_id, judge


def line_of(judgment: Judgment) -> dict[str, Any]:
    """Return a judgment as a line of judgments.jsonl."""
    judge = judgment.judge
    return {
        "prompt_id": judgment.prompt_id,
        "id": judgment.id,
        "system": judgment.system,
        "judge": judge.id,
        "persona": judge.persona,
        "model": judge.model,
        "elicitation": judge.elicitation,
        "replicate": judge.replicate,
        "round": judgment.round,
        "status": judgment.status,
        "scores": judgment.scores,
        "labels": judgment.labels,
        "abstained": judgment.abstained,
        "rationale": judgment.rationale,
        "raw": judgment.raw,
        "off_scale": judgment.off_scale,
        "usage": usage_document(judgment.usage),
        "latency_s": round(judgment.latency_s, 6),
        "cached": judgment.cached,
        "changed_because": judgment.changed_because,
        "revision_failed": judgment.revision_failed,
        "reason_missing": judgment.reason_missing,
        "error": judgment.error,
        "comparisons": judgment.comparisons,
    }


def usage_document(usage: Usage) -> dict[str, int]:
    """Return tokens as JSON has them; `cached` and `written` are parts of `input`, `reasoning` of
    `output`."""
    return {
        "input": usage.input,
        "cached": usage.cached,
        "output": usage.output,
        "written": usage.written,
        "reasoning": usage.reasoning,
    }


def usage_in(document: Mapping[str, Any]) -> Usage:
    """Read tokens in the form of `usage_document`. Raises ValueError, LookupError, TypeError: it is
    something else."""
    try:
        read, cached, output, written, reasoning = (count_in(document[name]) for name in _COUNTS)
    except ValueError:
        raise ValueError("usage") from None
    return Usage(read, cached, output, written, reasoning=reasoning)


def count_in(value: Any) -> int:
    """Read a number of calls or tokens, as JSON has it. Raises ValueError: it is something else."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(value)
    return value


def seconds_in(value: Any) -> float:
    """Read a duration, as JSON has it. Raises ValueError: it is something else."""
    if not _is_number(value) or value < 0:
        raise ValueError(value)
    return float(value)


def judgment_in(line: Mapping[str, Any]) -> Judgment:
    """Read the judgment of a line in the form of `line_of`. Raises ValueError, LookupError,
    TypeError, AttributeError: it is something else; says the field where one is wrong."""
    texts = ("prompt_id", "id", "system", "persona", "model", "elicitation", "raw")
    for name in texts:
        _require(isinstance(line[name], str), name)
    for name in ("rationale", "changed_because", "reason_missing", "error"):
        _require(line[name] is None or isinstance(line[name], str), name)
    for name in ("round", "replicate"):
        _require(isinstance(line[name], int) and line[name] >= 1, name)
    _require(line["status"] in _STATUSES, "status")
    _require(
        line["revision_failed"] is None or line["revision_failed"] in _STATUSES, "revision_failed"
    )
    _require(line["abstained"] in (None, True, False), "abstained")
    for name in ("scores", "off_scale"):
        _require(all(_is_number(value) for value in line[name].values()), name)
    for name in ("labels", "comparisons"):
        _require(all(isinstance(value, str) for value in line[name].values()), name)
    _require(_is_number(line["latency_s"]), "latency_s")
    return Judgment(
        prompt_id=line["prompt_id"],
        id=line["id"],
        system=line["system"],
        judge=Judge(line["persona"], line["model"], line["elicitation"], line["replicate"]),
        status=line["status"],
        round=line["round"],
        scores=line["scores"],
        abstained=line["abstained"],
        rationale=line["rationale"],
        raw=line["raw"],
        off_scale=line["off_scale"],
        usage=usage_in(line["usage"]),
        latency_s=line["latency_s"],
        cached=bool(line["cached"]),
        error=line["error"],
        labels=line["labels"],
        changed_because=line["changed_because"],
        revision_failed=line["revision_failed"],
        reason_missing=line["reason_missing"],
        comparisons=line["comparisons"],
    )


def _require(right: bool, field: str) -> None:
    if not right:
        raise ValueError(field)


def _is_number(value: Any) -> bool:
    # A score that JSON could not hold was written as null.
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class JudgmentFile:
    """The judgments of a run's folder, of all rounds, in the order in which they were made.

    Each is read from the file when it is come to: a run's raw texts need not fit into memory. `of`
    looks up those of one response. A last line that is not whole, as a kill may leave, is left out.
    Raises InputError: when gone through or looked up, the file cannot be read, or a line is none
    that a run writes; says which.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offsets: dict[tuple[str, str], list[tuple[int, int]]] | None = None

    def __iter__(self) -> Iterator[Judgment]:
        for _, number, text in self._lines():
            yield self._judgment(number, text)

    def of(self, prompt_id: str, response_id: str) -> list[Judgment]:
        """Return all judgments of one response, none where there is none."""
        if self._offsets is None:
            self._offsets = {}
            for offset, number, text in self._lines():
                judgment = self._judgment(number, text)
                place = (judgment.prompt_id, judgment.id)
                self._offsets.setdefault(place, []).append((offset, number))
        judgments = []
        with self.path.open("rb") as file:
            for offset, number in self._offsets.get((prompt_id, response_id), ()):
                file.seek(offset)
                judgments.append(self._judgment(number, file.readline()))
        return judgments

    def _lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield each whole line: its offset, its number from 1, its text."""
        offset = 0
        try:
            for number, text in enumerate(lines_of(self.path), start=1):
                if text.endswith(b"\n"):
                    yield offset, number, text
                offset += len(text)
        except OSError:
            fault = Fault(str(self.path), unreadable(self.path), "the judgments of a run")
            raise InputError([fault]) from None

    def _judgment(self, number: int, text: bytes) -> Judgment:
        try:
            line = json_in(text)
            judgment, judge = judgment_in(line), line["judge"]
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            known = isinstance(error, ValueError | LookupError) and error.args
            field = (
                str(error.args[0])
                if known and not isinstance(error, orjson.JSONDecodeError)
                else None
            )
            actual, expected = "no judgment that a run writes", "a line of judgments.jsonl"
            fault = Fault(str(self.path), actual, expected, number, field)
            raise InputError([fault]) from None
        if judge != judgment.judge.id:
            expected = f"{shown(judgment.judge.id)}, as its other fields say"
            raise InputError([Fault(str(self.path), shown(judge), expected, number, "judge")])
        return judgment
