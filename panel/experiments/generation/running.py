"""Texts from models, into a file that grows while they come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Mapping
from functools import partial
from hashlib import sha256
from typing import Any

from persona_panel.calls.budget import NO_CAPS, Caps
from persona_panel.calls.cache import key_of, page_of
from persona_panel.calls.caller import Caller
from persona_panel.experiments.generation.plan import GenerationPlan, WantedText
from persona_panel.experiments.generation.report import GeneratedTexts
from persona_panel.files.documents import as_json
from persona_panel.files.errors import RunStopped
from persona_panel.files.private_files import replace_file
from persona_panel.graphs.context import Abort
from persona_panel.graphs.sweeping import TargetAnswer, said_in, target_answer
from persona_panel.rubrics import Calls
from persona_panel.runs.execution import CALLED, Execution, refuse_open_batches
from persona_panel.runs.executor import kept_going, predicted_calls
from persona_panel.runs.growing_file import AppendedFile
from persona_panel.runs.held import HeldRun
from persona_panel.runs.judging.cost_estimate import CostEstimate, ModelEstimate
from persona_panel.runs.judging.model_access import open_caller
from persona_panel.runs.judging.preflight import refuse_unpriced
from persona_panel.runs.output_file import OutputFile
from persona_panel.runs.provider_batches import batch_caller_factory
from persona_panel.runs.request_files import Exported, RequestFiles, export
from persona_panel.runs.spending import spending_kept

OnAnswer = Callable[[TargetAnswer], None]

_TOKENS_A_WORD = 1.4
_USUAL_WORDS = 400


async def generate_texts(
    plan: GenerationPlan,
    output: OutputFile,
    *,
    caps: Caps = NO_CAPS,
    patience_s: float | None = None,
    on_answer: OnAnswer | None = None,
    execution: Execution = CALLED,
) -> GeneratedTexts:
    """Have the targets write, and write what comes to `output`: a line for each text as soon as it
    is there, in the order of the prompts at the end. What is missing is told in the result.

    Raises:
        ConfigurationError: a price is not known where `caps` are in dollars.
        RunFolderError: the file holds something else, or is being written, or cannot be.
        RunStopped: a reply could not be kept, or the file holds texts that are not reached.
    """
    refuse_unpriced(list(plan.targets), caps)
    held_texts(plan, output, caps)
    refuse_open_batches(output.path, execution.answered_by, overwrite=output.overwrite)
    # Targets do not hear each other.
    caller_factory = execution.caller_factory(plan.endpoints, caps, others_too=False)
    with output.writing():
        spent = output.spent.read_bytes() if output.spent.exists() else None
    output.prepare()
    done: dict[str, TargetAnswer] = {}
    with output.writing():
        file = AppendedFile(
            output.path, _result, fresh=output.overwrite, until_first=True, shown=output.path
        )
    starts = output.starts(plan.targets)
    lacking = 0
    try:
        try:
            # That of texts that are to be replaced is true until there is a new one.
            begin = partial(output.write_manifest, plan.document(), starts)
            if not output.overwrite:
                begin()
            opened = open_caller(
                plan.endpoints, caps, patience_s=patience_s, caller_factory=caller_factory
            )
            async with opened as caller:
                starts[-1]["sent"] = caller.counts.sent
                with spending_kept(caller, output.spent):
                    await execution.begin(caller, plan.endpoints, lambda: _collect(plan, caller))
                    write = partial(_write_rows, plan, file, begin)
                    keep = partial(kept_going, caller, output.path, write)
                    await _all_texts(plan, caller, keep, done, on_answer)
                    caller.require_not_stopped()
        finally:
            lacking = file.close()
            if output.overwrite and not GeneratedTexts(plan, done).has_rows:
                # The old texts are still there, and what was spent for them.
                if spent is not None:
                    replace_file(output.spent, spent)
            elif not lacking:
                _write_in_order(plan, output, done, starts)
    except (Abort, OSError) as error:
        raise RunStopped(str(error)) from error
    if lacking:
        raise RunStopped(
            f"{output.path} contains {lacking:,} responses that this run did not reach (their "
            "replies are not in the cache in use, and the models could not be called or a cap was "
            "reached), so the file was not changed. The same command continues; --overwrite "
            "replaces the file"
        )
    return GeneratedTexts(plan, done)


async def _all_texts(
    plan: GenerationPlan,
    caller: Caller,
    write: Callable[[WantedText, TargetAnswer], None],
    done: dict[str, TargetAnswer],
    on_answer: OnAnswer | None,
) -> None:
    async def one(wanted: WantedText) -> None:
        answer = await _answered(wanted, caller)
        done[wanted.digest] = answer
        if answer.text is not None:
            write(wanted, answer)
        if on_answer is not None:
            on_answer(answer)

    await _each(plan, one)


def _write_rows(
    plan: GenerationPlan,
    file: AppendedFile,
    begin: Callable[[], None],
    wanted: WantedText,
    answer: TargetAnswer,
) -> None:
    for row in plan.rows_of(wanted, answer):
        if file.is_empty:
            begin()
        file.add(row)
    # Safe from a kill, and there for whoever looks into the file.
    file.flush()


async def _collect(plan: GenerationPlan, caller: Caller) -> None:
    """Have the targets asked, for what the caller gathers of it: nothing comes of their answers."""
    await _each(plan, lambda wanted: _answered(wanted, caller))


async def _each(
    plan: GenerationPlan, do: Callable[[WantedText], Coroutine[Any, Any, object]]
) -> None:
    """Do something about all texts at once.

    Raises:
        Abort: the run cannot go on.
    """
    try:
        async with asyncio.TaskGroup() as tasks:
            for wanted in plan.wanted:
                tasks.create_task(do(wanted))
    except* Abort as group:
        raise group.exceptions[0] from None


async def _answered(wanted: WantedText, caller: Caller) -> TargetAnswer:
    page = caller.page(wanted.target, wanted.prompt.text)
    return await target_answer(
        wanted.unanswered(),
        # An answer that was cut off is told to be so.
        lambda: caller.complete(
            wanted.target, wanted.request, page, wanted.sample, cut_is_usable=True
        ),
        lambda reply: caller.forget([(wanted.request, reply)], page, wanted.sample),
    )


async def export_texts(plan: GenerationPlan, files: RequestFiles) -> Exported:
    """Write the requests that the cache does not answer, to be answered elsewhere; calls no model
    that could be asked so. Raises as `generate_texts` and `export`."""
    caller_factory, _ = batch_caller_factory(plan.endpoints, others_too=False)
    async with open_caller(plan.endpoints, NO_CAPS, caller_factory=caller_factory) as caller:
        return await export(caller, plan.endpoints, lambda: _collect(plan, caller), files)


def _write_in_order(
    plan: GenerationPlan,
    output: OutputFile,
    done: Mapping[str, TargetAnswer],
    starts: list[dict[str, Any]],
) -> None:
    """The file anew, in the order of the prompts, and what it is in the manifest."""
    lines = [
        as_json(row) + b"\n"
        for wanted in plan.wanted
        if (answer := done.get(wanted.digest)) is not None and answer.text is not None
        for row in plan.rows_of(wanted, answer)
    ]
    replace_file(output.path, b"".join(lines))
    texts = GeneratedTexts(plan, done)
    about = {
        "output": {
            "file": output.path.name,
            "lines": len(lines),
            "sha256": sha256(output.path.read_bytes()).hexdigest(),
        },
        "result": texts.document(),
    }
    output.write_manifest(plan.document() | about, starts)


def held_texts(plan: GenerationPlan, output: OutputFile, caps: Caps = NO_CAPS) -> HeldRun:
    """What the file holds of these texts; calls nothing.

    Raises:
        ConfigurationError: a price is not known where `caps` are in dollars.
        RunFolderError: it holds something else.
    """
    held: set[str] = set()
    if not output.overwrite:
        known = {wanted.digest for wanted in plan.wanted}
        others = 0
        for number, line in output.lines():
            digest = line.get("request")
            if not isinstance(digest, str):
                output.refuse(f"line {number} has no text in the field 'request'")
            others += digest not in known
            held.add(digest)
        if others:
            output.refuse(
                f"{others:,} of its responses are to other prompts, or by other targets, samples "
                "or instructions"
            )
    return output.held(len(held), plan.endpoints, caps)


def estimate_texts(plan: GenerationPlan) -> list[CostEstimate]:
    """What the targets would take, the cache counted in; `judgments` are texts. Calls nothing."""
    parts = {bound.id: ModelEstimate(bound) for bound in plan.targets}
    longest = max((n for n in (plan.words, plan.max_words) if n is not None), default=_USUAL_WORDS)
    with predicted_calls() as predicted:
        for wanted in plan.wanted:
            part = parts[wanted.target]
            part.of += 1
            page = page_of(part.bound.client.parameters, wanted.prompt.text)
            key = key_of(wanted.request, wanted.sample)
            reply = predicted.reply(page, key)
            if (reply is None or said_in(reply) is None) and predicted.is_new(page, key):
                part.judgments += 1
                tokens = min(round(_TOKENS_A_WORD * longest), wanted.request.max_tokens)
                part.add_requests(wanted.request, Calls.just(1, tokens))
    return [part.estimate() for part in parts.values()]


def _result(line: Mapping[str, Any]) -> Hashable:
    return (line["request"], line["id"])
