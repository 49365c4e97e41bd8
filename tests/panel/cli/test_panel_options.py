"""The options of a panel's settings, made of their fields (`persona_panel.cli.panel_options`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from persona_panel.cli.panel_options import PanelOptions, panel_options
from persona_panel.graphs.deliberation import Deliberation
from tests.helpers.invoked import invoked

MODEL = "{model: 'openai:m', base_url: 'http://127.0.0.1:9/v1'}"


def options_from(*arguments: str, **which: Sequence[str]) -> PanelOptions:
    """What a command with these arguments is given.

    Raises:
        click.ClickException: they are refused.
    """
    seen: list[PanelOptions] = []

    @click.command()
    @panel_options(**which)
    def command(panel_options: PanelOptions) -> None:
        seen.append(panel_options)

    done = CliRunner().invoke(command, arguments, standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return seen[0]


def test_only_what_is_there_is_handed_on() -> None:
    """Without an option nothing replaces a panel file's value; a switch replaces it either way."""
    assert options_from().settings == {"options": {}}
    said = options_from("--replicates", "2", "--no-plain-judge", "--model", "a:b", "--model", "c:d")
    assert said.settings == {
        "options": {}, "replicates": 2, "plain_judge": False, "models": ("a:b", "c:d"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--replicates", "0"], "0 is not in the range x>=1"),
        (["--deliberate", "21"], "21 is not in the range 1<=x<=20"),
        (["--concurrency", "0"], "0 is not in the range x>=1"),
        (["--patience", "-1"], "is not in the range x>=0"),
        (["--layout", "sideways"], "'shared-prefix', 'persona-first'"),
        (["--elicitation", "shouting"], "'dimensions'"),
        (["--deliberate-when", "1.5"], "expected spread>S"),
        (["--reveal", "both"], "--reveal, --stop-when, --deliberate-when and --name-peers work "
         "only with --deliberate: add --deliberate N, or leave them out."),
        (["--seed", "1"], "No such option"),
    ],
)  # fmt: skip
def test_values_outside_a_settings_range(arguments: list[str], words: str) -> None:
    """They are refused as the field says, before anything is read."""
    with pytest.raises(click.UsageError) as refused:
        options_from(*arguments)
    assert words in refused.value.format_message()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--limit", "0"], "'--limit': found 0; expected a whole number, at least 1"),
        (["--limit", "two"], "'--limit': found two; expected a whole number, at least 1"),
        (["--deliberate", "21"], "found 21; expected a whole number, at least 1 and at most 20"),
        (["--max-usd", "0"], "'--max-usd': found 0.0; expected a number, above 0"),
    ],
)
def test_a_number_out_of_its_range_is_refused_in_words(words: list[str], said: str) -> None:
    """What was found and what is expected, without the signs of a formula."""
    refused = invoked("score", "texts.csv", *words)
    assert refused.returncode == 2
    assert said in " ".join(refused.stderr.split())


def test_the_parts_of_a_deliberation() -> None:
    """Its options make one value; those that are left out have the defaults."""
    said = options_from(
        "--deliberate", "2", "--reveal", "both", "--stop-when", "settled",
        "--deliberate-when", "spread > 1.5", "--name-peers",
    )  # fmt: skip
    assert said.settings.get("deliberation") == Deliberation(
        rounds=2, reveal="both", stop_when="settled", spread_above=1.5, named=True
    )
    assert options_from("--deliberate", "3").settings.get("deliberation") == Deliberation(rounds=3)


def test_a_command_may_lack_settings() -> None:
    """One that it does not take has no option, and one that it only switches off has that alone."""
    with pytest.raises(click.NoSuchOption):
        options_from("--deliberate", "2", without=["deliberation"])
    with pytest.raises(click.NoSuchOption):
        options_from("--plain-judge", only_off=["plain_judge"])
    said = options_from("--no-plain-judge", only_off=["plain_judge"])
    assert said.settings.get("plain_judge") is False


def test_limits_of_all_models_in_a_panel_file(tmp_path: Path) -> None:
    """A file's `concurrency` and `patience` are of models that set none, and options replace
    them."""
    file = tmp_path / "panel.yaml"
    file.write_text(f"concurrency: 3\npatience: 7.5\nmodels: [{MODEL}]\n")
    settings: list[Any] = []
    for more in ([], ["--concurrency", "5"]):
        plan = options_from("--panel", str(file), *more).panel().plan
        settings.append((plan.settings.concurrency, plan.settings.patience))
    assert settings == [(3, 7.5), (5, 7.5)]
