"""What examples share: commands run and printed, scripted models in place of real ones, a paper's
published data, and its figures beside ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from persona_panel import PanelError, load_ratings
from persona_panel.cli.main import command as persona_panel
from persona_panel.files.published import PUBLISHED, PublishedRows, read_published
from persona_panel.statistics import Ratings
from persona_panel.testing import serving
from persona_panel.testing.scripted_model import Script

ROWS = Path(__file__).resolve().parents[1] / "benchmarks" / "papers.yaml"


def command(*words: str | Path, quiet: bool = False) -> str:
    """Run a command and return what it prints; its exit status is 1 where answers are missing."""
    print("\n$ persona-panel", *words, flush=True)
    with redirect_stdout(StringIO()) as printed:
        try:
            persona_panel.main([str(word) for word in words], prog_name="persona-panel")
        except SystemExit as ended:
            if ended.code not in (None, 0, 1):
                raise
    if not quiet:
        print(printed.getvalue(), end="", flush=True)
    return printed.getvalue()


@contextmanager
def models_or_scripted(
    models: Sequence[str] | None, scripted: Sequence[str], script: Script, folder: Path
) -> Iterator[Sequence[str]]:
    """The models that were given, or scripted ones, served here while they are asked."""
    if models:
        yield models
        return
    # A run that goes on finds its models at the address where it left them.
    address = folder / "address.txt"
    port = urlsplit(address.read_text("utf-8")).port or 0 if address.exists() else 0
    with serving(script, port=port) as server:
        address.write_text(server.base_url, "utf-8")
        os.environ["PERSONA_PANEL_CACHE"] = str(folder / "cache")
        os.environ |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
        yield scripted


@contextmanager
def plain_faults() -> Iterator[None]:
    """End the script with what was refused, in place of a traceback."""
    try:
        yield
    except PanelError as error:
        raise SystemExit(str(error)) from None


def where_of(paper: str) -> str:
    """Where a reader gets the data of a paper."""
    source = PUBLISHED[paper]
    return f"Where to get the files: {source.where}; licence: {source.licence}"


def data_of(paper: str, path: Path) -> Mapping[str, PublishedRows]:
    """The published data of a paper, as the files that `persona-panel people import` makes."""
    print(where_of(paper))
    with plain_faults():
        return read_published(paper, path).files


def ratings_of(paper: str, usage: str | None) -> dict[str, Ratings]:
    """The ratings in a paper's data at the path that the script is called with, by file."""
    if len(sys.argv) != 2:
        raise SystemExit(f"{usage}\n{where_of(paper)}")
    files = data_of(paper, Path(sys.argv[1]))
    return {Path(file).stem: load_ratings(rows) for file, rows in files.items()
            if rows and file.endswith(".csv")}  # fmt: skip


def rows_of(paper: str) -> list[dict[str, Any]]:
    """The methods, tables and figures of a paper, each with its figures and ours."""
    rows: list[dict[str, Any]] = yaml.safe_load(ROWS.read_text("utf-8"))[paper]
    return rows


def figures(paper: str, place: str) -> dict[str, Any]:
    """The figures that a place in a paper has, by the names of their rows."""
    return next(row["table"] for row in rows_of(paper) if row["place"] == place)


def beside(paper: str) -> None:
    """Print the figures of a paper, those of ours that public data give, and why they differ."""
    rows = [row for row in rows_of(paper) if "theirs" in row or "ours" in row]
    heads = {"theirs": "the paper's", "ours": "ours", "note": "remark"}
    names = [name for name in heads if any(name in row for row in rows)]
    table = Table("in the paper", *(heads[name] for name in names), box=SIMPLE_HEAD,
                  title="Figures of the paper")  # fmt: skip
    for row in rows:
        cells = (str(row.get(name, "")) for name in names)
        table.add_row(f"{row['place']}: {row['method']}", *cells)
    Console().print(table)
