"""The table of models compared with LiteLLM's: `persona_panel.models.availability`."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from persona_panel.cli.library import models
from persona_panel.models.availability import (
    OLD,
    PriceDifference,
    PublishedTable,
    differences,
    litellm_table,
    retired,
)
from persona_panel.models.config import facts_of, prices_as_of

FILE = "model_prices_and_context_window_backup.json"


def entry(**changes: Any) -> dict[str, Any]:
    """What LiteLLM's table says of gpt-4o-mini."""
    return {
        "max_input_tokens": 128_000,
        "input_cost_per_token": 1.5e-7,
        "cache_read_input_token_cost": 7.5e-8,
        "output_cost_per_token": 6e-7,
    } | changes


def installed(folder: Path, content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution called litellm with this table."""
    (folder / "litellm").mkdir()
    (folder / "litellm" / FILE).write_text(content)
    (folder / "litellm-9.9.0.dist-info").mkdir()
    (folder / "litellm-9.9.0.dist-info" / "METADATA").write_text("Name: litellm\nVersion: 9.9.0\n")
    monkeypatch.syspath_prepend(folder)


def of_mini(published: dict[str, Any]) -> list[PriceDifference]:
    table = PublishedTable("9.9.0", {"gpt-4o-mini": published})
    return [one for one in differences(table) if one.model == "openai:gpt-4o-mini"]


def test_the_same_figures_differ_in_nothing() -> None:
    """Prices for a token are those for a million; a price of 0 for writing to a cache is none."""
    assert of_mini(entry(cache_creation_input_token_cost=0.0)) == []


@pytest.mark.parametrize(
    ("change", "what", "listed", "published"),
    [
        ({"input_cost_per_token": 2e-7}, "input", 0.15, 0.2),
        ({"output_cost_per_token": None}, "output", 0.6, None),
        ({"cache_creation_input_token_cost": 1e-7}, "cache_write", None, 0.1),
        ({"max_input_tokens": 1}, "context_window", 128_000, 1),
        ({"supports_reasoning": True}, "reasoning", "never", "yes"),
    ],
)
def test_each_figure_that_differs_is_told(
    change: dict[str, Any], what: str, listed: Any, published: Any
) -> None:
    """A price that rose, one that is gone or new, another window, a model that reasons now."""
    assert of_mini(entry(**change)) == [
        PriceDifference("openai:gpt-4o-mini", what, listed, published)
    ]


def test_a_model_that_the_other_table_does_not_have() -> None:
    """It is one difference, and not one for each figure."""
    found = differences(PublishedTable("9.9.0", {}))
    assert {one.what for one in found} == {"model"}


def test_the_table_is_read_from_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`persona-panel models` prints what differs from it, with its version."""
    table = {"gpt-4o-mini": entry(input_cost_per_token=2e-7)}
    installed(tmp_path, json.dumps(table), monkeypatch)
    found = litellm_table()
    assert found is not None
    assert (found.version, found.models) == ("9.9.0", table)
    printed = " ".join(
        CliRunner().invoke(models, ["--full"], env={"COLUMNS": "160"}).output.split()
    )
    assert "differ from the table of LiteLLM 9.9.0" in printed
    assert "openai:gpt-4o-mini input 0.15 0.2" in printed


def test_a_table_that_cannot_be_read_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command goes on without it."""
    installed(tmp_path, "no JSON", monkeypatch)
    assert litellm_table() is None
    assert CliRunner().invoke(models).exit_code == 0


def test_models_that_are_taken_off() -> None:
    """From the announced day on, and not before."""
    facts = facts_of("openai:gpt-5")
    assert facts is not None
    assert facts.retires is not None
    assert "openai:gpt-5" in retired(facts.retires)
    assert "openai:gpt-5" not in retired(facts.retires - timedelta(days=1))


def test_an_old_table_is_said_to_be_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of half a year ago is no longer taken at its word."""
    then = prices_as_of() + OLD

    class Clock(date):
        @classmethod
        def today(cls) -> Clock:
            return cls.fromordinal(then.toordinal() + 1)

    monkeypatch.setattr("persona_panel.cli.library.date", Clock)
    assert "181 days old" in " ".join(CliRunner().invoke(models).output.split())
    monkeypatch.setattr("persona_panel.models.availability.OLD", timedelta(days=181))
    monkeypatch.setattr("persona_panel.models.local_servers.OLD", timedelta(days=181))
    assert "days old" not in CliRunner().invoke(models).output
