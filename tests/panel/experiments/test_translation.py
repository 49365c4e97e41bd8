"""How near texts that were translated back are to their originals."""

from __future__ import annotations

import math

import pytest

from persona_panel.experiments.dialogues import DialogueReply
from persona_panel.experiments.translation import BackTranslation, translation_result
from persona_panel.models.config import ModelConfig
from persona_panel.planning.languages import english_words

sacrebleu = pytest.importorskip("sacrebleu")

TEXTS = {
    "a.same": ("Give the number.", "un"),
    "a.near": ("Give the numbers now.", "deux"),
    "b.other": ("Give the number.", "trois"),
    "b.again": ("Give the number.", "trois"),
    "b.none": ("Rate it.", "quatre"),
}
BACK = ["Give the number.", "Give the number.", "All else.", "All else.", None]


def chrf(back: str, english: str) -> float:
    """chrF2 of one text, by the package itself."""
    return float(sacrebleu.sentence_chrf(back, [english]).score) / 100


def test_figures_of_a_part_are_those_of_its_texts() -> None:
    """Mean, median and least are over the texts that came back; others are missing; the text that
    stands in two places is remarked on once, and the lowest is first."""
    replies = [DialogueReply(text, None if text else "unparsed") for text in BACK]
    result = translation_result("X", TEXTS, {"m": replies})
    parts = {row["part"]: row for row in result["parts"].rows}
    near, other = chrf(BACK[1], "Give the numbers now."), chrf("All else.", "Give the number.")
    assert other < near < 1
    assert list(parts) == ["a", "b", "all"]
    assert [(row["n"], row["missing"]) for row in parts.values()] == [(2, 0), (2, 1), (4, 1)]
    figures = [
        [parts[part][name].value for name in ("chrf", "median", "least")] for part in ("a", "all")
    ]
    assert figures[0] == pytest.approx([(1 + near) / 2, (1 + near) / 2, near])
    assert figures[1] == pytest.approx([(1 + near + 2 * other) / 4, (near + other) / 2, other])
    assert f"in 4 places of the file, the least {other:.2f}." in result.conclusion[0]
    assert [remark.partition(" ")[0] for remark in result.remarks] == [
        "b.other", "a.near", "a.same",
    ]  # fmt: skip
    assert [row["place"] for row in result["texts"].rows][-2:] == ["a.same", "b.none"]


def test_without_a_reply_no_figure_is_defined() -> None:
    """Where nothing came back, figures are undefined, and nothing is remarked on."""
    nothing = [DialogueReply(None, "unparsed")] * len(TEXTS)
    result = translation_result("X", TEXTS, {"m": nothing})
    assert all(math.isnan(row["least"].value) for row in result["parts"].rows)
    assert result["parts"].rows[-1]["missing"] == len(TEXTS)
    assert result.remarks == []


def test_only_places_that_english_has_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place of a translation that English lacks has no original."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    own = english_words()
    labels = {**own.rubrics["offensiveness"], "label": "Other"}
    own = own.model_copy(update={"rubrics": {"offensiveness": labels, "mine": labels}})
    texts = BackTranslation(own, [ModelConfig(model="openai:stub")]).texts
    assert "rubrics.offensiveness.label" in texts
    assert not any(place.startswith("rubrics.mine") for place in texts)
