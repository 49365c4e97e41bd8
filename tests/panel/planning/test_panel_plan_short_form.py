"""A panel in short, at a Python prompt and in a notebook."""

from __future__ import annotations

import pytest

from persona_panel import ModelConfig, Panel, Persona
from persona_panel.testing import ScriptedModel, serving

KEY = "sk-a-key-that-nobody-may-see-0123456789"


def test_a_panel_in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says who judges by what, and the HTML lists the personas; neither shows a key, an
    address or a description, and markup in a label is escaped."""
    ann = Persona(id="ann", label="<script>Ann</script>", axis="own", description="You doubt it.")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving() as server:
        models = [
            ModelConfig(model=f"openai:{name}", base_url=server.base_url) for name in ("one", "two")
        ]
        panel = Panel([ann], models, "debate-speech")
        assert repr(panel) == (
            "<Panel: 2 judges, 1 persona, models openai:one and openai:two, rubric debate-speech, "
            "1 dimension>"
        )
        shown = panel._repr_html_()
        assert "<td>&lt;script&gt;Ann&lt;/script&gt;</td><td>own</td>" in shown
        assert "<script" not in shown
        for secret in (KEY, server.base_url, "You doubt it."):
            assert secret not in repr(panel) + shown


def test_a_shipped_rubrics_variant_is_named() -> None:
    """Of a rubric with variants, it is said which one is used."""
    panel = Panel("disciplinary", ScriptedModel(), "argument-quality:novice")
    assert "rubric argument-quality:novice" in repr(panel)
