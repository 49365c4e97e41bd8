"""The key points of a run's rationales by a model: made, estimated, written into its folder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import orjson

from persona_panel.calls.budget import Caps
from persona_panel.experiments.keypoints.report import (
    NAME,
    KeyPointReport,
    Rationale,
    key_point_report,
    key_points_document,
)
from persona_panel.experiments.keypoints.steps import DialogueBatch, SummedUp, steps
from persona_panel.experiments.questions.calling import QuestionReply, answering, foreseeing
from persona_panel.files.errors import RunStopped
from persona_panel.files.outputs import as_json, replace_file
from persona_panel.models.config import ModelConfig
from persona_panel.runs.judging.cost_estimate import CostEstimate

_NOT_CALLED = "skipped:"


async def key_points(
    rationales: Sequence[Rationale], model: ModelConfig, most: int, caps: Caps
) -> KeyPointReport:
    """Have a model state the points of each rationale, sum them up and assign them; count
    them.

    A rationale whose points could not be read is missing, and counted with the reason.

    Raises:
        ConfigurationError: the model cannot be had, or has no known price where `caps` are in
            dollars.
        RunStopped: a cap was reached or the model was given up before all was asked; what was
            answered is in the cache. Or a reply could not be kept.
    """
    going = steps([rationale.text for rationale in rationales], most)
    async with answering(model, caps) as held:
        try:
            batch = next(going)
            while True:
                replies = await held.answers(batch.dialogues)
                _refuse_skipped(replies)
                batch = going.send(replies)
        except StopIteration as done:
            summed_up: SummedUp = done.value
    # Thousands of intervals: a signal must not wait for them.
    return await asyncio.to_thread(key_point_report, rationales, summed_up, model.id)


def estimate_key_points(
    rationales: Sequence[Rationale], model: ModelConfig, most: int
) -> CostEstimate:
    """Estimate the cost of `key_points`, the cache counted in, without a call.

    What is asked of points that are not known yet is counted as if every rationale made three that
    no other makes in the same words: rather too many calls than too few.

    Raises:
        ConfigurationError: the model cannot be had.
    """
    going = steps([rationale.text for rationale in rationales], most)
    with foreseeing(model) as foreseen:
        try:
            batch = next(going)
            while True:
                replies = foreseen.answers(batch.dialogues, batch.tokens)
                batch = going.send(_expected(batch, replies))
        except StopIteration:
            return foreseen.part.estimate()


def write_key_points(report: KeyPointReport, folder: Path) -> Path:
    """Write keypoints.json into a run's folder; gives its path.

    Raises:
        OSError: it cannot be written.
    """
    path = folder / NAME
    replace_file(path, as_json(key_points_document(report), orjson.OPT_INDENT_2) + b"\n")
    return path


def _refuse_skipped(replies: Sequence[QuestionReply[object]]) -> None:
    skipped = [
        reply.error for reply in replies if reply.error and reply.error.startswith(_NOT_CALLED)
    ]
    if skipped:
        why = skipped[0].removeprefix(_NOT_CALLED).strip()
        raise RunStopped(
            f"{len(skipped):,} of {len(replies):,} questions were not asked ({why}). Key points "
            "are made from all answers, so none were written; the same command asks only what is "
            "missing"
        )


def _expected(
    batch: DialogueBatch, replies: Sequence[QuestionReply[object]]
) -> list[QuestionReply[object]]:
    return [
        QuestionReply(expected) if reply.value is None and reply.error is None else reply
        for reply, expected in zip(replies, batch.expected, strict=True)
    ]
