"""The key points of a run's rationales by a model: made, estimated, written into its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import orjson

from persona_panel.experiments.dialogues import (
    DialogueJob,
    DialogueReply,
    HoldDialogues,
    ModelDialogue,
    models_of,
)
from persona_panel.experiments.keypoints.report import (
    NAME,
    KeyPointReport,
    Rationale,
    key_points_document,
)
from persona_panel.experiments.keypoints.steps import SummedUp, SummingUp
from persona_panel.files.errors import RunStopped
from persona_panel.files.outputs import as_json, replace_file
from persona_panel.models.config import ModelConfig
from persona_panel.results.conclusions.wording import counted

T = TypeVar("T")

_SKIPPED = "skipped:"


class KeyPoints(DialogueJob[SummedUp]):
    """The stating, summing up and assigning of the points of rationales by a model;
    `key_point_report` counts them. A rationale whose points could not be read is missing.

    In an estimate, what is asked of points that are not known yet is counted as if every rationale
    made three that no other makes in the same words: rather too many calls than too few.

    Raises:
        ConfigurationError: the model cannot be had.
    """

    def __init__(self, rationales: Sequence[Rationale], model: ModelConfig, most: int) -> None:
        self.models = models_of(model)
        self._name, self._most = model.id, most
        self.heading = f"{counted(len(rationales), 'rationale')} × {model.id}"
        self._texts = [rationale.text for rationale in rationales]

    async def made(self, hold: HoldDialogues) -> SummedUp:
        async def whole(step: str, dialogues: Sequence[ModelDialogue[T]]) -> list[DialogueReply[T]]:
            """Hold dialogues; raise RunStopped where some were not."""
            replies = await hold(step, dialogues)
            skipped = [reply.error for reply in replies if (reply.error or "").startswith(_SKIPPED)]
            if skipped:
                why = str(skipped[0]).removeprefix(_SKIPPED).strip()
                raise RunStopped(
                    f"{len(skipped):,} of {len(replies):,} questions were not asked ({why}). Key "
                    "points are made from all answers, so none were written; the same command "
                    "asks only what is missing"
                )
            return replies

        return await SummingUp(self._name, self._most, whole).summed_up(self._texts)


def write_key_points(report: KeyPointReport, folder: Path) -> Path:
    """Write keypoints.json into a run's folder; gives its path.

    Raises:
        OSError: it cannot be written.
    """
    path = folder / NAME
    replace_file(path, as_json(key_points_document(report), orjson.OPT_INDENT_2) + b"\n")
    return path
