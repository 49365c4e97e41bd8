"""`persona-panel init`, a panel file for a file of responses, and `demo`, an example scored."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from time import monotonic, process_time
from typing import TYPE_CHECKING

import click

from persona_panel.analyses.parameters import columns_by_field
from persona_panel.cli.failures import NextStep, refusals_without_calls
from persona_panel.cli.help import PanelCommand
from persona_panel.cli.options import column_mapping
from persona_panel.files.secrets import say, to_paste, visible
from persona_panel.files.wording import command_line
from persona_panel.planning.settings import DEFAULT_MODEL, split_variant

if TYPE_CHECKING:
    from persona_panel.files.responses import ResponseFile

_OF_PEOPLE = ("rater", "rating", "score", "annotator", "human", "label", "rank")
"""The words that the name of a column of people's ratings has in it."""


@click.command(cls=PanelCommand, example="answers.csv --model openai:gpt-5-mini")
@click.argument("responses", metavar="RESPONSES")
@column_mapping("RESPONSES", "response=answer,system=model")
@click.option(
    "--model",
    "models",
    metavar="SPEC",
    multiple=True,
    help=f"Model of the judges, provider:name; repeatable.  [default: {DEFAULT_MODEL}]",
)
@click.option("--rubric", metavar="NAME|FILE", help="Rubric to score by.  [default: scrub]")
@click.option(
    "--personas", metavar="NAME|FILE", help="Personas that judge.  [default: perspectives]"
)
@click.option(
    "--out", metavar="FILE", default="panel.yaml", show_default=True, help="The panel file."
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@refusals_without_calls
def init(
    responses: str,
    mapping: Mapping[str, str],
    models: tuple[str, ...],
    rubric: str | None,
    personas: str | None,
    out: str,
    force: bool,
) -> None:
    """Look at RESPONSES, a file of texts, and write a panel file to score them by.

    On a terminal, what no option says is asked: the columns, if their names do not say which they
    are, models, rubric and personas. Elsewhere the defaults are taken. No model is called.

    Exit status: 0; 2, bad input, or a file that is there already.
    """
    import persona_panel.personas as persona_sets
    from persona_panel import rubrics
    from persona_panel.files.errors import ConfigurationError
    from persona_panel.files.outputs import replace_file
    from persona_panel.files.responses import ResponseFile
    from persona_panel.files.wording import command_line
    from persona_panel.models.providers import provider_names
    from persona_panel.planning.definitions import config_of, resolve_personas, resolve_rubric

    if responses == "-":
        raise click.UsageError("init reads RESPONSES more than once: give a file in place of -")
    if Path(out).exists() and not force:
        raise ConfigurationError(f"--out {out} is there; choose another, or replace it by --force")
    columns = _columns(responses, mapping)
    mapping = mapping or _mapping(columns)
    batch = ResponseFile(responses, mapping=mapping)
    what = _described(responses, batch)
    say(visible(f"{what}."), err=True)
    if not models:
        models = tuple(_asked("Models, provider:name, with commas", DEFAULT_MODEL).split(","))
    settings = {
        "rubric": rubric or _asked(f"Rubric: {', '.join(rubrics.shipped())}, or a file", "scrub"),
        "personas": personas
        or _asked(f"Personas: {', '.join(persona_sets.shipped())}, or a file", "perspectives"),
    }
    models = tuple(map(str.strip, models))
    # Names that there are not are refused here, not by the first run.
    for model in models:
        if config_of(model).provider not in provider_names():
            raise ConfigurationError(
                f"{model}: there is no such provider; `persona-panel models` lists them"
            )
    resolve_rubric(settings["rubric"])
    resolve_personas(settings["personas"])
    options: dict[str, str | int | Path] = {
        "--panel": out,
        "--out": f"runs/{Path(responses).name.partition('.')[0]}",
    }
    score = command_line("score", [responses], options)
    ratings = [
        column
        for column in columns
        if column not in mapping.values()
        and any(word in column.lower() for word in _OF_PEOPLE)
        # A line of the file would end in it.
        and column.isprintable()
    ]
    id_ = next((each for each in (mapping.get("id"), "id", "response_id") if each in columns), "ID")
    beside = {"--human": responses, "--map-human": f"item={id_},raters={','.join(ratings)}"}
    compared = command_line("score", [responses], {**options, **beside})
    text = _panel_file(
        what,
        score,
        ratings,
        compared,
        models,
        {k: _beside(v, out) for k, v in settings.items()},
        mapping,
    )
    # A file of the user's own, who says who may read it (umask).
    replace_file(Path(out), text.encode(), permissions=0o666)
    say(visible(f"Written: {out}"), err=True)
    NextStep("score the responses", score).say()


def _columns(responses: str, mapping: Mapping[str, str]) -> list[str]:
    """The columns of a file of responses, whatever they are called."""
    from persona_panel.files.records import Fields, Report, read_records
    from persona_panel.files.responses import NAMES, ResponseFile

    report = Report(responses)
    fields = Fields(tuple((name, (name,)) for name in sorted(NAMES)), NAMES)
    columns = dict.fromkeys(
        column for record in read_records(responses, fields, report) for column in record.cells
    )
    if report.faults:
        # Whoever reads the responses finds these, and what is wrong with their fields.
        _described(responses, ResponseFile(responses, mapping=mapping or _likely(columns)[1]))
        raise report.error()
    return list(columns)


def _likely(columns: Collection[str]) -> tuple[list[str], Mapping[str, str]]:
    """The needed fields that have no column under a name of theirs, and the likely columns of
    these."""
    from persona_panel.files.responses import FIELDS

    names_of, by_lower = dict(FIELDS.names), {column.lower(): column for column in columns}
    likely_of = dict(FIELDS.likely)
    lacking = [field for field in likely_of if not set(names_of[field]) & set(columns)]
    guess = {
        names_of[field][0]: by_lower[likely]
        for field in lacking
        if (likely := next(filter(by_lower.get, likely_of[field]), ""))
    }
    return [names_of[field][0] for field in lacking], guess


def _mapping(columns: Sequence[str]) -> Mapping[str, str]:
    """The likely columns, confirmed on a terminal; of a field without a likely one, reading says
    what is missing."""
    lacking, guess = _likely(columns)
    if not lacking or not sys.stdin.isatty():
        return guess
    needed = ", ".join(lacking)
    question = f"Which columns are {needed}? There are {', '.join(columns)}"
    answer = _asked(question, ",".join(f"{field}={column}" for field, column in guess.items()))
    context = click.get_current_context()
    [option] = [param for param in context.command.params if param.name == "mapping"]
    return columns_by_field(context, option, [answer])


def _asked(question: str, default: str) -> str:
    """The answer on a terminal; the default, where nobody can be asked."""
    if not sys.stdin.isatty():
        return default
    answer: str = click.prompt(visible(question), default=default or None, err=True)
    return answer


def _described(responses: str, batch: ResponseFile) -> str:
    """Count the texts, by how many systems, to how many prompts."""
    from persona_panel.results.conclusions.wording import counted

    systems, prompts = set(), set()
    for response in batch:
        systems.add(response.system)
        prompts.add(response.prompt_id)
    return (
        f"{responses}: {counted(len(batch), 'response')} by {counted(len(systems), 'system')} to "
        f"{counted(len(prompts), 'prompt')}"
    )


def _beside(name: str, panel: str) -> str:
    """A name, or the path of a file as the panel file has it: from its own folder."""
    file, variant = split_variant(name)
    if Path(file).is_file():
        file = os.path.relpath(file, Path(panel).parent)
    return f"{file}:{variant}" if variant else file


def _panel_file(
    what: str,
    score: str,
    ratings: Sequence[str],
    compared: str,
    models: Sequence[str],
    settings: Mapping[str, str],
    mapping: Mapping[str, str],
) -> str:
    """The text of the panel file."""
    columns = "".join(f"  {field}: {_yaml(column)}\n" for field, column in mapping.items())
    if columns:
        columns = f"\n# What the columns of the responses are called.\ncolumns:\n{columns}"
    people = (
        f"""
# {", ".join(ratings)}: if these are people's ratings, a column for each person, the panel is
# compared with them by the ids of texts (where the file has none, add a column ID) by
# {compared}
"""
        if ratings
        else ""
    )
    return f"""# A panel for {what}.
# Score them:  {score}
# What it takes, without a call: the same with --dry-run
{people}
# Who judges: a set of `persona-panel library personas`, a YAML file, or none.
personas: {_yaml(settings["personas"])}

# What is judged: a rubric of `persona-panel library rubrics`, or a YAML file.
rubric: {_yaml(settings["rubric"])}

# The models that the personas speak through. `persona-panel models` says which can be used here.
# With two or more, the figures say how far results depend on the model.
models:
{"".join(f"  - {_yaml(model)}" + chr(10) for model in models)}{columns}
# More settings, as they are where nothing is said:
# replicates: 1          # how often every judge is asked
# plain_judge: false     # whether a judge without a persona scores, too
# seed: 0                # of the resampling behind intervals
"""


def _yaml(text: str) -> str:
    """A text as a value in YAML."""
    return text if re.fullmatch(r"[A-Za-z][\w./:-]*", text) else json.dumps(text)


_JUDGED_S = 6.0
"""The demo takes more seconds of a core than this, unless answers come from the cache."""
_LARGER = 15
"""The time that the larger example takes, in times of the demo, roughly: it was 12 to 20."""


@click.command(cls=PanelCommand)
@refusals_without_calls
def demo() -> None:
    """Score eight short speeches with five personas on the embedded model, without a key, in less
    than a minute. It is `score` with arguments, which it prints; the run is written below `runs`.
    """
    from persona_panel.files.errors import ConfigurationError
    from persona_panel.models.embedded_weights import require_engine, weights_of

    _require_folder()
    try:
        weights_of("smollm2-135m")
        require_engine()
    except ConfigurationError as error:
        raise ConfigurationError(f"The demo has an embedded model judge: {error}") from None
    options = {"--rubric": "debate-speech", "--personas": "disciplinary"}
    batch = _example("debate_speeches.jsonl")
    say("The demo is this command:", err=True)
    say(to_paste(command_line("score", [batch], options)), err=True)
    # Not before that is shown: it imports for a second.
    from persona_panel.cli.score import score

    words = [batch, *(word for pair in options.items() for word in pair)]
    # The run's folder keeps the command that makes it, to which answers add an option.
    typed, sys.argv = sys.argv, ["persona-panel", "score", *words]
    began, worked = monotonic(), process_time()
    try:
        with score.make_context("score", words, parent=click.get_current_context()) as context:
            score.invoke(context)
    finally:
        sys.argv = typed
    lasts = ""
    # With answers from the cache it took no time that the larger one would.
    if process_time() - worked > _JUDGED_S:
        from persona_panel.cli.progress import duration

        lasts = f", in about {duration(_LARGER * (monotonic() - began))}"
    NextStep(
        f"score the larger example, of 32 responses{lasts}; put a file of your own in its place, "
        "and add --model PROVIDER:NAME for a model of your own",
        command_line("score", [_example("responses.jsonl")], {"--personas": "disciplinary"})
        + " --plain-judge",
    ).say()


def _require_folder() -> None:
    from persona_panel.files.errors import ConfigurationError

    try:
        problem = "" if os.access(Path.cwd(), os.W_OK | os.X_OK) else "cannot be written"
    except FileNotFoundError:
        problem = "is no more"
    if problem:
        raise ConfigurationError(
            f"The demo writes its run below the present folder, which {problem}; start it in "
            "another"
        )


def _example(name: str) -> str:
    """The path of a batch of examples, from the present folder where it is below that."""
    path = Path(str(files("persona_panel").joinpath("library", name))).resolve()
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
