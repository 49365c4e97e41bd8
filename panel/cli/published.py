"""`persona-panel people import`: published data of papers as files that every command reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from persona_panel.cli.failures import NextStep, refusals_without_calls
from persona_panel.cli.help import PanelCommand
from persona_panel.cli.options import column_mapping
from persona_panel.files.secrets import say, say_sentences, visible

_NAMES = ("scrub", "debate-speeches", "argument-quality", "critical-questions")


@click.command(cls=PanelCommand, example="scrub SCRuB-dataset --out scrub")
@click.argument("name", metavar="NAME", type=click.Choice(_NAMES))
@click.argument("path", metavar="PATH")
@column_mapping("the files", "response=essay,prompt=stem")
@click.option("--out", metavar="FOLDER", required=True, help="A new folder for the files.")
@refusals_without_calls
def import_(name: str, path: str, mapping: Mapping[str, str], out: str) -> None:
    """Read published data of a paper from PATH, the folder that holds them or the file of people's
    ratings, and write them as files that the other commands take. NAME is scrub, debate-speeches,
    argument-quality or critical-questions.

    \b
    scrub               task2_human_judgments.csv, and for the texts
                        task2_annotation_items.csv and study_prompts.csv
    debate-speeches     data.csv, and judge_*.csv of other judges
    argument-quality    novice_ratings_with_text.json
    critical-questions  validation.json

    No data are shipped; docs/papers says where to get them. OUT has responses.jsonl for `score`,
    ratings.csv (and rankings.csv) for `agree` and `people correlate --human`, calibration-*.csv of
    items that checked SCRuB's experts, and source.json with the licence and the SHA-256 of what was
    read.

    Exit status: 0; 2 for bad input: a file or a column that is missing is named, with what to do.
    """
    from persona_panel.files.published import PUBLISHED, read_published, write_published
    from persona_panel.files.wording import command_line

    data = read_published(name, Path(path), mapping)
    folder = Path(out)
    for written in write_published(name, data, folder):
        rows = len(data.files.get(written.name, ()))
        say(visible(f"Written: {written}" + (f" ({rows:,} lines)" if rows else "")), err=True)
    publication, files = PUBLISHED[name], data.files
    for what in ("paper", "where", "licence"):
        say_sentences(f"{what.capitalize()}: {getattr(publication, what)}")
    if counts := data.counts():
        say_sentences(counts)
    ratings = folder / ("ratings.csv" if files.get("ratings.csv") else "rankings.csv")
    if files["responses.jsonl"]:
        options: dict[str, str | int | Path] = {
            "--rubric": publication.rubric, "--human": ratings, "--model": "MODEL",
            "--out": f"runs/{name}",
        }  # fmt: skip
        scored = command_line("score", [folder / "responses.jsonl"], options)
        what = "have a panel of MODEL, such as openai:gpt-4o, score the texts too"
        NextStep(what, scored).say()
    else:
        say_sentences("There are no texts with the ratings, so that no panel can score them.")
        NextStep("measure how far people agree", command_line("agree", [ratings], {})).say()
