"""`persona-panel questions` and `persona-panel match`: critical questions, asked and evaluated."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from panel.cli.failures import refusals
from panel.cli.options import caps

if TYPE_CHECKING:
    from rich.console import Console

    from graphs import Response
    from panel.calls.budget import Caps
    from panel.questions.matching import Match, Worth

INCOMPLETE = 1


@click.command()
@click.argument("interventions", metavar="INTERVENTIONS")
@click.option("--model", "spec", metavar="SPEC", required=True, help="Who asks: provider:name.")
@click.option("--out", metavar="FILE", help="Where the questions go.  [default: standard output]")
@caps
@refusals
def questions(interventions: str, spec: str, out: str | None, caps: Caps) -> None:
    """Have a model ask three critical questions about each intervention.

    INTERVENTIONS is a JSONL file with an id and an intervention a line. What comes out is a
    RESPONSES file, a question a line, the intervention its context: score it with
    --rubric critical-question, or hold it against references with `persona-panel match`.

    Exit status: 0, all are there; 1, some are missing, named on standard error; 2, bad input
    or configuration, nothing was called. The same command again calls for the missing alone.
    """
    from panel.errors import ConfigurationError
    from panel.files.run_folder import replace_file
    from panel.questions.asking import asking_questions
    from panel.questions.calling import answers
    from panel.questions.interventions import as_row, load_interventions
    from panel.seating import config_of

    said = load_interventions(interventions)
    model = config_of(spec)
    if out and not Path(out).resolve().parent.is_dir():
        raise ConfigurationError(f"--out {out}: there is no such folder; make it first")
    dialogues = [asking_questions(one.intervention) for one in said]
    came = asyncio.run(answers(model, dialogues, caps))
    rows = [
        as_row(one, number, question, spec)
        for one, answer in zip(said, came, strict=True)
        for number, question in enumerate(answer.value or (), start=1)
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    if out:
        replace_file(Path(out), text.encode())
    else:
        sys.stdout.write(text)
    missing = [(one.id, a.error) for one, a in zip(said, came, strict=True) if a.error is not None]
    for name, error in missing:
        click.echo(f"{name}: no questions ({error})", err=True)
    click.echo(f"{len(rows):,} questions about {len(said) - len(missing):,} of {len(said):,} "
               "interventions", err=True)  # fmt: skip
    if missing:
        sys.exit(INCOMPLETE)


@click.command()
@click.argument("generated", metavar="GENERATED")
@click.argument("references", metavar="REFERENCES")
@click.option(
    "--by",
    type=click.Choice(["similarity", "chrf", "model"]),
    default="similarity",
    show_default=True,
    help="What says that two questions ask the same: sentence embeddings, chrF, or a model.",
)
@click.option(
    "--threshold",
    metavar="T",
    type=click.FloatRange(0, 1),
    help="Below it a question is not evaluable.  [default: 0.65 for similarity, 0.35 for chrf]",
)
@click.option("--model", "spec", metavar="SPEC", help="Who says so, with --by model.")
@caps
@click.option("--json", "as_json", is_flag=True, help="Print every match as JSON, and no table.")
@refusals
def match(
    generated: str,
    references: str,
    by: str,
    threshold: float | None,
    spec: str | None,
    caps: Caps,
    as_json: bool,
) -> None:
    """Give each question of GENERATED the label of the reference that asks the same.

    Both are RESPONSES files whose prompt_id is the intervention; REFERENCES has a further
    column label: useful, unhelpful or invalid. Where GENERATED has it as well, Cohen's kappa
    of the two is told. The score of an intervention is the share of useful questions.

    Exit status: 0; 1, some questions got no answer from the model; 2, bad input or
    configuration, nothing was called.
    """
    if (by == "model") != bool(spec):
        raise click.UsageError("--model goes with --by model, and --by model with --model.")
    if by == "model" and threshold is not None:
        raise click.UsageError("--by model knows no threshold: the model says what matches.")

    from panel.files.responses import load_responses
    from panel.questions.match import match_by_measure, match_by_model
    from panel.questions.references import references_of
    from panel.seating import config_of

    batch = load_responses(generated)
    known = references_of(load_responses(references), batch, (references, generated))
    if by == "model":
        matches = asyncio.run(match_by_model(batch, known, config_of(spec or ""), caps))
    else:
        measure: Any = by
        limit = threshold if threshold is not None else {"similarity": 0.65, "chrf": 0.35}[by]
        matches = match_by_measure(batch, known, measure, limit)
    _tell(batch, matches, as_json)
    if any(one.error is not None for one in matches):
        sys.exit(INCOMPLETE)


def _tell(batch: Sequence[Response], matches: Sequence[Match], as_json: bool) -> None:
    from rich.text import Text

    from panel.cli.printing import output
    from panel.questions.diversity import compression_diversity, ngram_diversity
    from panel.questions.matching import label_kappa, worth
    from panel.questions.references import label_of
    from panel.run import number

    found = worth(matches)
    texts: dict[str, list[str]] = {}
    for response in batch:
        texts.setdefault(response.system, []).append(response.text)
    diversity = {
        name: {"ngram": ngram_diversity(own), "compression": compression_diversity(own)}
        for name, own in texts.items()
    }
    human = [label_of(response) for response in batch]
    kappa = label_kappa([one.label for one in matches], human) if any(human) else None
    if as_json:
        document = {
            "systems": [
                {
                    "system": one.system,
                    "score": number(one.score),
                    "labels": one.labels,
                    "not_evaluable": one.not_evaluable,
                    "not_evaluable_share": number(one.not_evaluable_share),
                    "missing": one.missing,
                    "by_intervention": {k: number(v) for k, v in one.by_intervention.items()},
                    "diversity": {k: number(v) for k, v in diversity[one.system].items()},
                }
                for one in found
            ],
            "kappa": None
            if kappa is None
            else {
                "value": number(kappa.value),
                "n": kappa.n_items,
                "reason": None if kappa.reason is None else str(kappa.reason),
            },
            "matches": [
                {
                    "prompt_id": one.prompt_id,
                    "id": one.id,
                    "system": one.system,
                    "label": one.label,
                    "reference": None if one.reference is None else one.reference.id,
                    "similarity": number(one.similarity),
                    "error": one.error,
                }
                for one in matches
            ],
        }
        click.echo(json.dumps(document, ensure_ascii=False, indent=2))
        return
    console = output()
    _show(found, diversity, console)
    if kappa is not None:
        value = f"undefined ({kappa.reason})" if math.isnan(kappa.value) else f"{kappa.value:.2f}"
        console.print(
            Text(
                f"Cohen's kappa with the labels in the file: {value}, over {kappa.n_items:,} "
                "questions"
            )
        )


def _show(found: Sequence[Worth], diversity: dict[str, dict[str, float]], console: Console) -> None:
    from rich.text import Text

    from panel.cli.printing import Line, show_table

    show_table(
        console,
        "Critical questions",
        ["system"],
        ["score", "useful", "unhelpful", "invalid", "not\nevaluable", "missing",
         "diversity,\nn-grams", "diversity,\ncompression"],
        [
            Line(
                one.system,
                [
                    Text(_number(one.score)),
                    *(Text(str(n)) for n in one.labels.values()),
                    Text(
                        f"{one.not_evaluable} ({_number(100 * one.not_evaluable_share, 0)} %)"
                    ),
                    Text(str(one.missing)),
                    Text(_number(diversity[one.system]["ngram"])),
                    Text(_number(diversity[one.system]["compression"])),
                ],
            )
            for one in found
        ],
    )  # fmt: skip


def _number(value: float, digits: int = 2) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"
