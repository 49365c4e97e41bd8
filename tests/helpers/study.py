"""Raters who answer packets by a rule."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from persona_panel.study.collection import sealed
from persona_panel.study.exports import packet_in
from persona_panel.study.packet import Packet

Score = Callable[[str, str], int | str]
"""The score of a text on a dimension."""


def unsealed(packet: Packet, score: Score) -> dict[str, Any]:
    """Answers without their digest: scores by the rule, ranks by the first dimension, equal scores
    sharing a rank, and a reason for everything."""
    first = packet.dimensions[0].id if packet.dimensions else ""
    rankings, ratings = [], []
    for one in packet.sets:
        given = {text.id: score(text.text, first) for text in one.texts}
        ranks = {
            name: 1 + sum(other > value for other in given.values())
            for name, value in given.items()
        }
        if "rank" in packet.tasks:
            rankings.append(
                {"set": one.id, "ranks": ranks, "reason": "The first is clear.",
                 "milliseconds": 30_000}
            )  # fmt: skip
        if "rate" in packet.tasks:
            ratings += [
                {
                    "text": text.id,
                    "scores": {each.id: score(text.text, each.id) for each in packet.dimensions},
                    "reason": f"Text {text.label} gives reasons.",
                    "milliseconds": 60_000,
                }
                for text in one.texts
            ]
    return {
        "schema": "persona-panel/study-answers/1",
        "study": packet.study,
        "packet": packet.packet,
        "packet_sha256": packet.digest,
        "consented": True,
        "started": "2026-01-05T09:00:00.000Z",
        "exported": "2026-01-05T10:00:00.000Z",
        "rankings": rankings,
        "ratings": ratings,
    }


def answer(page: Path, to: Path, score: Score, **changes: Any) -> Path:
    """Write the answers to a packet's page into a file, some of its fields changed."""
    document = sealed(unsealed(packet_in(page), score) | changes)
    to.parent.mkdir(exist_ok=True)
    to.write_text(json.dumps(document), "utf-8")
    return to
