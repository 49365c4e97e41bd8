"""`persona-panel select`, and `people make`, `collect` and `status`: a blinded study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from persona_panel.analyses import parameters
from persona_panel.cli.analysis_command import ResultOutput, result_options
from persona_panel.cli.failures import COMPLETE, INCOMPLETE, NextStep, refusals_without_calls
from persona_panel.cli.help import PanelCommand
from persona_panel.cli.options import column_mapping, json_option, whole_number, with_parameters
from persona_panel.files.secrets import say, standard_output, visible

if TYPE_CHECKING:
    from persona_panel.results.result import Result
    from persona_panel.runs.run import Run
    from persona_panel.statistics.core.table import Ratings
    from persona_panel.study.collection import CollectedStudy, ReadAnswers
    from persona_panel.study.design import Task
    from persona_panel.study.packet import StudyKey

# A format is a function of a module that writes a study's packets into a folder.
_FORMATS = {
    "html": ("persona_panel.study.exports", "write_pages"),
    "label-studio": ("persona_panel.study.exports", "write_label_studio"),
    "potato": ("persona_panel.study.exports", "write_potato"),
}
_NAMING_SHOWN = 5


def _design(ctx: click.Context, _: click.Parameter, name: str | None) -> str | None:
    """Take what a design by name sets as the default of the options that are not set."""
    from persona_panel.study.design import DESIGNS

    if name is not None:
        ctx.default_map = dict(DESIGNS[name])
    return name


@click.command(cls=PanelCommand, example="answers.csv --raters 3 --per-rater 20 --out study")
@click.argument("responses", metavar="RESPONSES")
@column_mapping("RESPONSES", "response=answer,system=model")
@click.option(
    "--design",
    type=click.Choice(["scrub"]),
    expose_value=False,
    is_eager=True,
    callback=_design,
    help="As in a paper: --tasks rank,rate --rubric scrub --readings 10 --attention 2 --abstain, "
    "unless given.",
)
@click.option(
    "--raters",
    metavar="N",
    type=click.IntRange(1, 999),
    help="How many people rate.",
)
@click.option(
    "--experts",
    metavar="FILE",
    help="In place of --raters: a file with a line for each, with the columns rater and "
    "discipline, over which each text's readings are spread.",
)
@whole_number(
    "--per-rater",
    help="How many texts each rater sees, besides calibration, repeats and attention checks.",
)
@whole_number(
    "--readings",
    help="In place of --per-rater: how many raters read each text, exactly; raters differ by one "
    "set at most.",
)
@click.option(
    "--tasks",
    type=click.Choice(["rank,rate", "rank", "rate"]),
    metavar="TASK,…",
    default="rank,rate",
    show_default=True,
    help="What is done with each set of texts to a prompt: rank them, rate each on the rubric's "
    "dimensions, or both; each with reasons.",
)
@click.option(
    "--calibration",
    metavar="N|ID,…",
    default="0",
    show_default=True,
    help="How many prompts all raters see, before the others, or which, by their ids.",
)
@whole_number(
    "--repeats",
    least=0,
    default=0,
    show_default=True,
    help="How many sets each rater sees a second time, at the end.",
)
@whole_number(
    "--attention",
    least=0,
    metavar="K",
    default=0,
    show_default=True,
    help="How many sets each rater sees whose two texts say how they are to be answered.",
)
@whole_number(
    "--exclude-failed",
    help="State that `people collect` leaves out raters who fail N attention checks or more.",
    hidden=True,
)
@click.option(
    "--rubric",
    metavar="NAME|FILE|RUN",
    default="scrub",
    show_default=True,
    help="The rubric to rate by: one of `library rubrics`, a YAML file, or a run's folder, "
    "for what its judges rated by.",
)
@click.option(
    "--abstain",
    is_flag=True,
    hidden=True,
    help="Raters may say that a text cannot be assessed, or compared, also where the rubric does "
    "not let them.",
)
@click.option("--consent", metavar="FILE", help="Text that raters consent to, in place of ours.")
@click.option(
    "--instructions", metavar="FILE", help="Text that raters read first, in place of ours."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(_FORMATS)),
    default="html",
    show_default=True,
    help="Pages to send, or an import for Label Studio or Potato. `people collect` reads answers "
    "of pages alone.",
)
@click.option(
    "--items",
    metavar="FILE",
    help="Rate these items of RESPONSES only, as `select` wrote them. `collect` then writes their "
    "inclusion probabilities for `people calibrate`.",
)
@click.option(
    "--seed",
    metavar="N",
    type=int,
    default=0,
    show_default=True,
    help="Seed of all draws.",
    hidden=True,
)
@click.option("--out", metavar="FOLDER", required=True, help="The study's folder, a new one.")
@json_option
@refusals_without_calls
def make(
    responses: str,
    mapping: Mapping[str, str],
    raters: int | None,
    experts: str | None,
    per_rater: int | None,
    readings: int | None,
    tasks: str,
    calibration: str,
    repeats: int,
    attention: int,
    exclude_failed: int | None,
    rubric: str,
    abstain: bool,
    consent: str | None,
    instructions: str | None,
    form: str,
    items: str | None,
    seed: int,
    out: str,
    as_json: bool,
) -> None:
    """Make packets for raters of RESPONSES, a file that `score` reads, as responses.jsonl in the
    folder of a run is.

    A rater sees sets: a prompt with up to six of its texts, called A, B, C. With --per-rater texts
    rotate so that every text is rated and, where texts are ranked, every two texts to a prompt are
    compared; with --readings it is a balanced incomplete block design. The order of sets and of
    texts in a set is balanced over raters by Williams squares. A design that cannot be is refused,
    with the number that would do.

    OUT/packets has a file for each rater: a page that works without a network or a server,
    saves answers in the browser and exports them to a file, to be sent back. Its ids say nothing
    of prompts and systems. OUT/key says which text is whose: keep it from raters.

    Exit status: 0; 2, bad input or an impossible design.
    """
    from persona_panel.files.responses import load_responses
    from persona_panel.files.selections import read_inclusion
    from persona_panel.files.wording import command_line
    from persona_panel.planning.definitions import resolve_rubric
    from persona_panel.results.result import load_format
    from persona_panel.rubrics import shipped
    from persona_panel.runs.load import load_run
    from persona_panel.study.design import StudySettings
    from persona_panel.study.kit import (
        CONSENT,
        INSTRUCTIONS,
        PACKETS,
        disciplines_of,
        make_study,
        refuse_a_study_there,
        selected_responses,
        write_key,
    )
    from persona_panel.study.study_result import design_result

    folder = Path(out)
    refuse_a_study_there(folder)
    if (raters is None) == (experts is None):
        raise click.UsageError("Found neither or both; give --raters N or --experts N")
    source = click.get_current_context().get_parameter_source("readings")
    if per_rater is not None and source is click.core.ParameterSource.DEFAULT_MAP:
        readings = None
    if (per_rater is None) == (readings is None):
        raise click.UsageError("Found neither or both; give --per-rater N or --readings N")
    disciplines = {} if experts is None else disciplines_of(experts)
    controls = () if calibration.isdecimal() else tuple(dict.fromkeys(calibration.split(",")))
    settings = StudySettings(
        raters=raters or len(disciplines),
        per_rater=per_rater or 0,
        tasks=cast(tuple["Task", ...], (*tasks.split(","),)),
        calibration=len(controls) or int(calibration),
        repeats=repeats,
        attention=attention,
        seed=seed,
        readings=readings or 0,
        names=tuple(disciplines),
        groups=tuple(disciplines.values()),
        exclude_failed=exclude_failed,
        abstain=abstain,
        controls=controls,
    )
    is_run = rubric not in shipped() and (Path(rubric) / "run.json").is_file()
    texts, inclusion = load_responses(responses, mapping=mapping), None
    if items is not None:
        drawn = read_inclusion(items, needed=True) or {}
        texts, inclusion = selected_responses(texts, drawn, items)
    made = make_study(
        texts,
        load_run(rubric).rubric if is_run else resolve_rubric(rubric),
        settings,
        consent=CONSENT if consent is None else _text("--consent", consent),
        instructions=INSTRUCTIONS
        if instructions is None
        else _text("--instructions", instructions),
        inclusion=inclusion,
    )
    key = write_key(made, folder)
    written = _writer(form)(made, folder)
    with standard_output() as to:
        load_format("json" if as_json else "terminal").render(design_result(made), to, full=False)
    for line in _naming_lines(made.naming):
        say(visible(line), err=True)
    say(
        f"{len(written)} files for raters are in {visible(str(folder / PACKETS))}. Keep "
        f"{visible(str(key))} from raters: it says which text is whose.",
        err=True,
    )
    if form == "html":
        answers, out_file = folder / "answers", folder / "ratings.csv"
        collect = command_line("people collect", [folder, answers], {"--out": out_file})
        sent = f"put the files that raters send back into {visible(str(answers))}, then"
        NextStep(sent, collect).say()


def _naming_lines(naming: tuple[Any, ...]) -> list[str]:
    """Warnings of texts that name a system, those that name their own first."""
    from persona_panel.results.conclusions.wording import counted

    sentences = []
    for own, which in ((True, "the name of its own system"), (False, "the name of another system")):
        texts = [text for text in naming if text.own is own]
        if not texts:
            continue
        shown = ", ".join(
            f"{text.prompt_id}/{text.id} ({text.part}: {text.name!r})"
            for text in texts[:_NAMING_SHOWN]
        )
        more = len(texts) - _NAMING_SHOWN
        sentences.append(
            f"Warning: {which} stands in {counted(len(texts), 'text')}, from which a rater may "
            f"guess the author: {shown}"
            f"{f' and {more:,} more (--json has all)' if more > 0 else ''}. "
            "Change the texts, or check that the word means something else."
        )
    return sentences


def _text(name: str, path: str) -> str:
    """The text of a file of the user's."""
    from persona_panel.files.errors import Fault, InputError
    from persona_panel.files.limits import text_of_file

    text = text_of_file(Path(path), field=name)
    if not text.strip():
        raise InputError([Fault(path, "an empty file", "a text file", field=name)])
    return text


def _writer(form: str) -> Callable[..., list[Path]]:
    from importlib import import_module

    module, name = _FORMATS[form]
    writer: Callable[..., list[Path]] = getattr(import_module(module), name)
    return writer


@click.command(cls=PanelCommand, example="study study/answers --out ratings.csv")
@click.argument("folder", metavar="STUDY")
@click.argument("answers", metavar="ANSWERS…", nargs=-1, required=True)
@click.option("--out", metavar="FILE", required=True, help="A CSV file for the ratings.")
@click.option("--overwrite", is_flag=True, help="Replace files that an earlier collection wrote.")
@click.option(
    "--panel",
    metavar="RUN",
    help="Also compare this run of the same texts with people, task by task, and write its page "
    "compared with people's ratings, FILE with -panel.html in place of .csv.",
)
@whole_number(
    "--exclude-failed",
    help="Leave out raters who failed N attention checks or more. Default: the rule of the study, "
    "if `people make` was given one.",
)
@result_options("missing <= 0", "krippendorff_alpha[ranks] >= 0.4")
@refusals_without_calls
def collect(
    folder: str,
    answers: tuple[str, ...],
    out: str,
    overwrite: bool,
    panel: str | None,
    exclude_failed: int | None,
    output: ResultOutput,
) -> None:
    """Unblind ANSWERS, the files that raters sent back or a folder of them, of the study STUDY.

    Writes FILE with the scores and, next to it, the ranks and a folder with the raters' reasons,
    from which a panel can infer scores. `agree` and `people correlate` read the ratings. Prints
    what is missing, how long raters took, who failed attention checks, and how far raters agree: by
    task (Kendall's W with a permutation test, Krippendorff's alpha), on calibration texts, and with
    themselves on repeated sets. Nobody is left out but by a rule that is stated. A file that is not
    of this study, or was changed, is refused alone. Files that are there already are replaced only
    with --overwrite; they may have been edited.

    Exit status: 0; 1, answers are missing, or a file was refused; 2, bad input, or no file could
    be used.
    """
    from persona_panel.cli.report import write_report
    from persona_panel.files.aligned_ratings import load_human_ratings
    from persona_panel.files.errors import ConfigurationError
    from persona_panel.files.outputs import require_ending
    from persona_panel.files.ratings import load_ratings
    from persona_panel.reports.page.report import report_of
    from persona_panel.results.conclusions.wording import counted
    from persona_panel.results.required_figures import result_figures
    from persona_panel.runs.load import load_run
    from persona_panel.study.collection import (
        collect_study,
        rating_tables,
        require_run_of,
        write_tables,
    )
    from persona_panel.study.packet import read_key
    from persona_panel.study.study_result import (
        agreement_by_task,
        collection_result,
    )

    require_ending(out, ".csv")
    key = read_key(Path(folder))
    read = _read(key, answers)
    collected = collect_study(key, read, exclude_failed)
    if not collected.ratings and (failed := [each for each in collected.progress if each.excluded]):
        raise ConfigurationError(
            "nothing is written: attention checks that they failed leave out all who answered, "
            f"{counted(len(failed), 'rater')}; choose a higher --exclude-failed"
        )
    # All is found out before anything is written.
    ratings = {task: load_ratings(rows)
               for task, rows in rating_tables(key, collected.ratings).items()}  # fmt: skip
    several = len({rating.rater for rating in collected.ratings}) > 1
    result = collection_result(
        key, read, collected, out, agreement_by_task(ratings) if several else None,
    )  # fmt: skip
    run = None if panel is None else load_run(panel)
    if run is not None:
        require_run_of(run, str(panel), key)
        result = _beside_panel(result, run, ratings)
    output.gate.refuse_unknown(lambda: result_figures(result))
    written = write_tables(key, collected.ratings, Path(out), overwrite=overwrite)
    for path in written:
        say(f"Written: {visible(str(path))}", err=True)
    if run is not None:
        page = report_of(run, load_human_ratings(written[0]))
        name = write_report(page, Path(out).with_name(f"{Path(out).stem}-panel.html"))
        say(f"Written: {visible(name)}", err=True)
    output.show(result, status=_status(read, collected))


def _beside_panel(result: Result, run: Run, ratings: Mapping[str, Ratings]) -> Result:
    """Compare a run with people's ratings of each task."""
    from dataclasses import replace

    from persona_panel.analyses.correlate import correlate

    tables, sentences = list(result.tables), list(result.conclusion)
    for task, of_people in ratings.items():
        beside = correlate(run, of_people)
        shown = next(table for table in beside.tables if table.title)
        whole = beside["statistics"]
        # `people correlate` is there to require figures of one task.
        columns = tuple(replace(column, figure="", p_figure="") for column in whole.columns)
        title = f"The panel compared with people: {task}"
        tables += [
            replace(shown, name=f"shown_{task}", title=title, when="always"),
            replace(whole, name=f"panel_{task}", columns=columns),
        ]
        sentences.append(f"Panel, {task}: {beside.conclusion[0]}")
    return replace(result, tables=tables, conclusion=sentences, next_step="")


@click.command(cls=PanelCommand, example="study study/answers")
@click.argument("folder", metavar="STUDY")
@click.argument("answers", metavar="[ANSWERS…]", nargs=-1)
@result_options("missing <= 0", "missing[rater-01] <= 5")
@refusals_without_calls
def status(folder: str, answers: tuple[str, ...], output: ResultOutput) -> None:
    """List the raters of the study in the folder STUDY, and what is missing of their ANSWERS, files
    or a folder of them.

    Exit status: 0, all is answered; 1, answers are missing, or a file was refused; 2, bad input.
    """
    from persona_panel.study.collection import collect_study, read_answers
    from persona_panel.study.packet import read_key
    from persona_panel.study.study_result import progress_result

    key = read_key(Path(folder))
    read = read_answers(map(Path, answers), key)
    _say_faults(read)
    collected = collect_study(key, read)
    output.show(progress_result(read, collected), status=_status(read, collected))


def _status(read: ReadAnswers, collected: CollectedStudy) -> int:
    whole = not read.faults and not any(each.missing for each in collected.progress)
    return COMPLETE if whole else INCOMPLETE


def _read(key: StudyKey, answers: tuple[str, ...]) -> ReadAnswers:
    """The answers; where no file can be used, its faults are the command's."""
    from persona_panel.files.errors import InputError
    from persona_panel.study.collection import read_answers

    read = read_answers(map(Path, answers), key)
    if not read.answered:
        raise InputError(read.faults)
    _say_faults(read)
    return read


def _say_faults(read: ReadAnswers) -> None:
    for fault in read.faults:
        say(visible(f"Left out: {fault}"), err=True)
    for name in read.replaced:
        say(visible(f"Left aside: {name}, as a later file answers the same packet"), err=True)


_TEXTS, _RUBRIC = "RESPONSES", "RUBRIC"
"""The words in a command for what only the user knows."""


@click.command(cls=PanelCommand, example="runs/first --n 60 --out items.csv")
@with_parameters(*parameters.ratings("run"))
@whole_number("--n", required=True, help="How many items people are to rate.")
@whole_number(
    "--seed",
    least=0,
    hidden=True,
    default=0,
    show_default=True,
    help="Seed of what is drawn at random.",
)
@click.option("--out", metavar="FILE", help="Write the items to this CSV file, for `people make`.")
@result_options("items >= 60", "prompts >= 10")
@refusals_without_calls
def select(
    run: str, mapping: Mapping[str, str], n: int, seed: int, out: str | None, output: ResultOutput
) -> None:
    """Choose the items of RUN that people should rate, for `people calibrate`.

    RUN is a run's folder, or a file of ratings as `agree` reads it. Items are drawn at random, as
    many of each system, the more probably the more the judges disagree on them (there people's
    ratings narrow the corrected intervals most) and the fewer items their prompt has (a prompt
    counts once). The CSV of --out has the columns item, prompt, source (the
    system), inclusion_probability and spread (the standard deviation of the judges' scores).

    `people make --items` makes packets of these items for raters, and `people collect` writes their
    ratings with the probabilities. Of ratings that you collect otherwise, give the file to
    `people calibrate` as --selected, so that its estimates stay unbiased.

    Printed is how many items were drawn, and what they are too few for; with --full the items, too.

    Exit status: 0, or 2 for bad input.
    """
    from persona_panel.analyses.select import select_result
    from persona_panel.files.errors import Fault, InputError
    from persona_panel.files.outputs import require_ending
    from persona_panel.files.ratings import load_ratings
    from persona_panel.files.selections import write_selection
    from persona_panel.results.required_figures import result_figures
    from persona_panel.statistics import select_items

    if out is not None:
        require_ending(out, ".csv")
    ratings = load_ratings(run, mapping=mapping)
    try:
        selection = select_items(ratings, n, seed)
    except ValueError as error:
        raise InputError([Fault(run, str(error), "ratings by judges with a persona")]) from None
    result = select_result(selection, ratings, n, source=run)
    output.gate.refuse_unknown(lambda: result_figures(result))
    if out is not None:
        write_selection(selection, Path(out))
        say(visible(f"The items are in {out}."), err=True)
    output.show(result, next_step=None if out is None else _study(run, out, len(selection)))


def _study(run: str, out: str, n_items: int) -> NextStep:
    """The next step with items in a file, and what the words in it mean that only the user
    knows."""
    made = _study_command(run, out, n_items)
    meanings = [
        f"{name} is {what}"
        for name, what in (
            (_TEXTS, "the file of the texts"),
            (_RUBRIC, "what the panel rated them by"),
        )
        if f" {name} " in made
    ]
    where = f" ({', '.join(meanings)})" if meanings else ""
    return NextStep(f"make packets of them for three people, who rate all, blind{where}", made)


def _study_command(run: str, out: str, n_items: int) -> str:
    """The command that makes packets of these items, with what it takes of a run's folder; of other
    ratings, and of a run that holds no texts, the user knows where the texts are."""
    from persona_panel.files.wording import command_line

    texts, rubric = _TEXTS, _RUBRIC
    if (Path(run) / "run.json").is_file():
        texts, rubric = _of_run(run)
    stem, n = Path(out).with_suffix(""), 1
    study = Path(f"{stem}-study")
    while study.exists():
        # A study is never written over another.
        n += 1
        study = Path(f"{stem}-study-{n}")
    options: dict[str, str | int | Path] = {
        "--items": out,
        "--raters": 3,
        "--per-rater": n_items,
        "--tasks": "rate",
        "--rubric": rubric,
        "--out": study,
    }
    return command_line("people make", [texts], options)


def _of_run(run: str) -> tuple[str, str]:
    """Return where the texts of a run are, and the rubric of its ratings."""
    from persona_panel.files.errors import RunFolderError
    from persona_panel.planning.definitions import resolve_rubric
    from persona_panel.rubrics import shipped
    from persona_panel.runs.kept import RESPONSES
    from persona_panel.runs.load import load_run

    loaded = load_run(run)
    own = loaded.rubric.id
    is_shipped = own in shipped() and resolve_rubric(own) == loaded.rubric
    try:
        next(loaded.responses(), None)
    except RunFolderError:
        # It was made with --no-texts.
        return _TEXTS, own if is_shipped else run
    return str(Path(run) / RESPONSES), own if is_shipped else run
