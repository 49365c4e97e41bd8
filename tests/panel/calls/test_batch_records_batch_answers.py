"""What of a batch's answers is still lacking."""

from __future__ import annotations

from persona_panel.calls.batch_records import BatchAnswers, BatchRecord
from persona_panel.calls.cache import ReplyKey
from persona_panel.models.batches import BatchAnswer, BatchStatus
from persona_panel.rubrics import ModelResponse, Usage


def test_an_answer_under_a_wrong_name_is_one_that_came() -> None:
    """Of three that the provider counts, one has its request's name and one another: one is
    lacking, not two."""
    rows = tuple(ReplyKey("a" * 64, bytes([number]) * 32) for number in range(3))
    batch = BatchRecord("t", "m", "openai:m", "http://x/v1", None, rows, Usage(9, output=3), 5.0)
    answers = BatchAnswers(batch, lambda row, answer: None)
    for name in (rows[0].custom_id, "f" * 64):
        answers.add(BatchAnswer(name, ModelResponse("5")))
    assert answers.lacking(BatchStatus("batch_1", "ended", "completed", done=3)) == 1
