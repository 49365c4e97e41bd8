"""`persona-panel sweep`: prompts in, what pressure does to the answers to them out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from panel.cli.failures import gathered, refusals
from panel.cli.options import Readers, caps, dry_run, out, readers

if TYPE_CHECKING:
    from graphs.framing import Prompt
    from panel.calls.budget import Caps
    from panel.cli.progress import ScoreProgress
    from panel.config import ModelConfig
    from panel.panel import Panel
    from panel.sweep.plan import Options
    from panel.sweep.running import Event

INCOMPLETE = 1
_SEEN = ("framed", "baseline")


@click.command()
@click.argument("prompts", metavar="[PROMPTS]", required=False)
@click.option(
    "--target",
    "targets",
    metavar="SPEC|FILE",
    multiple=True,
    help="Whose answers are scored: provider:name, or a YAML file with what a panel file says of "
    "a model; repeatable.",
)
@readers
@click.option(
    "--framings", metavar="NAME|FILE", default="scrub", show_default=True, help="The conditions."
)
@click.option(
    "--rewriter",
    "rewriters",
    metavar="SPEC|FILE",
    multiple=True,
    help="Who puts prompts into the conditions; several take turns.  [default: the panel's models]",
)
@click.option(
    "--responses",
    "responses_file",
    metavar="FILE",
    help="Score what systems have answered already; nothing is generated.",
)
@click.option(
    "--judge-sees",
    type=click.Choice(_SEEN),
    default="framed",
    show_default=True,
    help="The question that judges see with a response: the one it answers, or the baseline.",
)
@click.option(
    "--words", metavar="N", type=click.IntRange(min=1), help="Ask targets for about N words."
)
@click.option(
    "--temperature", metavar="X", type=click.FloatRange(min=0), help="The targets' temperature."
)
@click.option(
    "--threshold",
    metavar="X",
    type=click.FloatRange(min=0, min_open=True),
    default=1.2,
    show_default=True,
    help="Mark cells whose |Δ| reaches this.",
)
@out
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), help="Take the first N prompts only."
)
@dry_run
@caps
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print summary.json, or with --dry-run the estimates, and nothing else.",
)
@refusals
def sweep(
    prompts: str | None,
    targets: tuple[str, ...],
    readers: Readers,
    framings: str,
    rewriters: tuple[str, ...],
    responses_file: str | None,
    judge_sees: Any,
    words: int | None,
    temperature: float | None,
    threshold: float,
    folder: Path,
    limit: int | None,
    dry_run: bool,
    caps: Caps,
    as_json: bool,
) -> None:
    """Measure what pressure from the person who asks does to the quality of answers.

    PROMPTS, a .jsonl, .csv or .parquet file with prompt and optionally prompt_id, are
    rewritten into every condition of a framing set; the targets answer both, and the panel
    scores the answers, blind to condition and system. With --responses, a file with
    prompt_id, prompt, condition (one of them baseline), system and response, nothing is
    generated and PROMPTS may be left out.

    Exit status: 0, everything is there; 1, finished, but variants, answers or judgments are
    missing; 2, bad input or configuration, nothing was called; 130, interrupted. Whatever
    ended a sweep, the same command goes on where it stopped.
    """
    _refuse_mixed(prompts, targets, rewriters, responses_file, words, temperature)

    from panel.files.prompts import load_framed_responses, load_prompts
    from panel.sweep.library import framings_of

    with gathered() as gather:
        chosen = gather(lambda: framings_of(framings))
        asked = gather(lambda: load_prompts(prompts, limit=limit)) if prompts else None
        given = gather(lambda: load_framed_responses(responses_file)) if responses_file else None
        systems = [gather(partial(_model, target)) for target in targets]
        others = [gather(partial(_model, rewriter)) for rewriter in rewriters]
    if given is not None and limit is not None:
        kept = list(dict.fromkeys(response.prompt_id for response in given))[:limit]
        kept = kept if asked is None else [prompt.id for prompt in asked]
        given = [response for response in given if response.prompt_id in kept]
    options: Options = {
        "framings": chosen,
        "rewriters": others,
        "responses": given,
        "judge_sees": judge_sees,
        "words": words,
        "temperature": temperature,
        "threshold": threshold,
    }
    panel = readers.panel()
    if dry_run:
        from panel.cli.tables import tell_estimates

        tell_estimates(panel.estimate_sweep(asked, systems, **options), as_json=as_json)
        return
    n = len(asked or ()) * len(systems) * (1 + len(chosen.ids)) if given is None else len(given)
    _run(panel, asked, systems, options, n, folder, caps, as_json)


def _refuse_mixed(
    prompts: str | None,
    targets: Sequence[str],
    rewriters: Sequence[str],
    responses_file: str | None,
    words: int | None,
    temperature: float | None,
) -> None:
    if responses_file is None:
        if prompts is None:
            raise click.UsageError("Name a file of PROMPTS, or of --responses.")
        if not targets:
            raise click.UsageError("Name a --target, or a file of --responses.")
    elif targets or rewriters or words is not None or temperature is not None:
        raise click.UsageError(
            "--responses are there already: leave out --target, --rewriter, --words and "
            "--temperature."
        )


def _model(text: str) -> str | ModelConfig:
    """A spec as it is, and what a YAML file says of a model."""
    if not text.endswith((".yaml", ".yml")):
        return text
    from panel.config import ModelConfig
    from panel.files.definitions import load_definition

    return load_definition(Path(text), ModelConfig)


def _run(
    panel: Panel,
    prompts: Sequence[Prompt] | None,
    targets: Sequence[str | ModelConfig],
    options: Options,
    n_responses: int,
    folder: Path,
    caps: Caps,
    as_json: bool,
) -> None:
    """The sweep itself, with its tables and its exit status."""
    from panel.cli.printing import output
    from panel.cli.sweep_tables import show_sweep
    from panel.cli.watching import counted, watched

    what = f"{counted(n_responses, 'response')} at most"
    with watched(panel, what, n_responses * len(panel.judges), folder) as progress:
        done = panel.sweep(
            prompts, targets, out=folder, caps=caps, on_event=_Stages(progress), **options
        )
    if as_json:
        sys.stdout.write((folder / "summary.json").read_text("utf-8"))
    else:
        show_sweep(done, output())
        output().print(f"The run is in {folder}", soft_wrap=True, markup=False)
    if not done.complete:
        sys.exit(INCOMPLETE)


class _Stages:
    """Counts what comes before the judgments, and passes those on."""

    def __init__(self, progress: ScoreProgress) -> None:
        self._progress = progress
        self._rewritten: set[str] = set()
        self._answers = 0

    def __call__(self, event: Event) -> None:
        from graphs import Judgment
        from graphs.framing import Variant
        from graphs.sweeping import Answer

        if isinstance(event, Judgment):
            self._progress.take(event)
        elif isinstance(event, Variant | Answer):
            if isinstance(event, Variant):
                self._rewritten.add(event.prompt_id)
            else:
                self._answers += 1
            self._progress.note(
                f"{len(self._rewritten):,} prompts rewritten, {self._answers:,} answers"
            )
