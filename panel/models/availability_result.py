"""The result of `persona-panel models`: what is usable here, what the others lack, and which prices
are out of date."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

from persona_panel.models.availability import (
    OLD,
    Availability,
    PriceDifference,
    age_of_table,
    differences,
    litellm_table,
    retired,
)
from persona_panel.models.config import known_models, prices_as_of
from persona_panel.models.embedded_weights import NOTICE
from persona_panel.models.providers import load_provider, provider_names
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics.core.display import counted

_WIDEST = 56
"""The most characters of what is missing that stand in the table; a longer text is below it."""


def availability_result(today: date) -> Result:
    """Return which models can be used here and what the others need, the usable ones first, and how
    old the table of prices is on a day. Nothing is called."""
    rows = sorted((row for name in provider_names() for row in _rows(name)), key=_is_unusable)
    providers = Table(
        "models",
        (
            Key("state", "state"),
            Key("model", "model"),
        ),
        (Column("shown", "text", "found, or missing"), Column("detail", "text")),
        rows,
        "Models",
        short={"installed": (True,)},
    )
    conclusion, tables = [_counted(rows)], [providers]
    known, as_of = len(known_models()), prices_as_of()
    conclusion.append(f"Prices and context windows of {known} models are as of {as_of}.")
    if (age := age_of_table(today)) > OLD:
        conclusion.append(
            f"They are {age.days} days old: check them before you rely on a cost in dollars."
        )
    if gone := retired(today):
        conclusion.append(f"Taken off by their providers since: {', '.join(gone)}.")
    more = []
    published = litellm_table()
    if published is None:
        more.append("With litellm installed, they are compared with the table it ships.")
    elif differing := differences(published):
        source = f"the table of LiteLLM {published.version}"
        conclusion.append(
            f"{counted(len(differing), 'value')} differ from {source}; a panel file can set them."
        )
        tables.append(_differing(differing, source))
    else:
        more.append(f"They agree with the table of LiteLLM {published.version}.")
    return Result(
        "models",
        conclusion,
        tables,
        remarks_in_full=[
            NOTICE,
            "openai: also calls any OpenAI-compatible server: openai:NAME@ADDRESS, base_url in a "
            "panel file, or OPENAI_BASE_URL.",
            *more,
            *(f"{row['model']}: {row['detail']}" for row in rows if len(row["detail"]) > _WIDEST),
        ],
        next_step="Servers on this machine: persona-panel models --local",
    )


def _is_unusable(row: dict[str, Any]) -> bool:
    return not row["usable"]


def _counted(rows: list[dict[str, Any]]) -> str:
    lacking = sum(not row["installed"] for row in rows)
    others = f"; {lacking} need a package" if lacking else ""
    return f"Usable here: {sum(row['usable'] for row in rows)} of {len(rows)}{others}."


def _differing(differing: list[PriceDifference], source: str) -> Table:
    return Table(
        "prices",
        (Key("entry", "entry"),),
        (Column("listed", "text", "here"), Column("published", "text", source)),
        [
            {
                "entry": f"{entry.model} {entry.what}",
                "listed": _written(entry.listed), "published": _written(entry.published),
            }
            for entry in differing
        ],
        "Prices that differ",
        when="full",
    )  # fmt: skip


def _written(value: float | str | None) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:,}"


def _rows(name: str) -> Iterator[dict[str, Any]]:
    installed = False
    try:
        provider = load_provider(name)
        lines = provider.availability()
        installed = all(map(_is_installed, provider.packages))
    # Another distribution's provider that does not work hides no other.
    except Exception as error:
        lines = [Availability(f"{name}:NAME", False, str(error))]
    for line in lines:
        is_long = len(line.detail) > _WIDEST
        yield line._asdict() | {
            "state": "usable here" if line.usable else "not usable yet",
            "installed": line.usable or installed,
            "shown": f"{line.detail[: _WIDEST - 1]}…" if is_long else line.detail,
        }


def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True
