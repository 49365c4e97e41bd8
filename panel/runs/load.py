"""A run's folder read back as the run that wrote it."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from persona_panel.calls.budget import CallCounts, Estimated, Spending
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.judgments import is_edited
from persona_panel.files.named_files import local_run
from persona_panel.files.outputs import own_rows, text_of
from persona_panel.files.responses import Item, title_of
from persona_panel.files.wording import printable, shown
from persona_panel.graphs.context import Misfit, RatingCheck
from persona_panel.graphs.framing import BASELINE
from persona_panel.graphs.records import judges_in
from persona_panel.personas import Persona
from persona_panel.rubrics import Usage
from persona_panel.runs.judgment_lines import JudgmentFile, count_in, seconds_in, usage_in
from persona_panel.runs.kept import (
    OF_A_RUN,
    PROMPTS,
    RESPONSES,
    kept_lines,
    kept_manifest,
    kept_object,
    require_folder,
)
from persona_panel.runs.run import Run

_OTHER = (ValueError, LookupError, TypeError, AttributeError, ValidationError)


def load_run(folder: str | Path) -> Run:
    """Read a run's folder, or that of a sweep or an audit, back as the run that wrote it.

    Ratings, statuses, verdicts, rankings, what their intervals take as a sample (`random`) and what
    was spent are those of the run, also where it was stopped. Judgments with their texts are read
    when they are asked for (`Run.judgments`), and so are the responses (`Run.responses`). People's
    ratings are not in the folder: set `humans` to compare a deliberation with them.

    A run that was killed has the judgments that it had written, the verdicts of responses that
    every judge has judged, and no record of its calls.

    Raises:
        InputError: it is no run's folder, or a file in it is none that a run writes; names the
            file, the line and what was found.
    """
    path = Path(local_run(folder))
    require_folder(path, str(folder))
    document, kept = kept_manifest(path / "run.json")
    sweep = document.get("sweep")
    judges = judges_in(document)
    if len(set(judges)) < len(judges):
        raise _not_ours(path / "run.json")
    judgments = JudgmentFile(path / "judgments.jsonl")
    if sweep is None:
        items, titles = _items(path / RESPONSES)
    else:
        items, titles = _swept(path, sweep, judgments)
    run = Run(
        items,
        titles,
        judges,
        kept.output_rubric or kept.rubric,
        prices=kept.prices,
        seed=kept.seed,
        deliberating=kept.deliberation is not None,
    )
    run.random, run.deterministic = kept.random, kept.deterministic
    run.personas = tuple(Persona.model_construct(**item) for item in document["personas"])
    _fill(run, judgments, path / "verdicts.csv")
    run.is_edited = is_edited(path, document)
    if (path / "summary.json").is_file():
        _restore_calls(run, path / "summary.json")
        run.calls.sent = dict(document["starts"][-1].get("sent") or {})
    run.folder = path
    return run


def _not_ours(path: Path) -> InputError:
    return InputError([Fault(str(path), "none that this version writes", OF_A_RUN)])


def _items(path: Path) -> tuple[list[Item], dict[str, str]]:
    """Return which responses there are, and the beginnings of their prompts."""
    items, titles = [], {}
    first: dict[tuple[str, str], int] = {}
    for _, number, line in kept_lines(path):
        prompt_id = line["prompt_id"]
        items.append(Item(prompt_id, line["id"], line["system"]))
        if (before := first.setdefault(items[-1][:2], number)) != number:
            actual = f"{shown(prompt_id)}/{shown(line['id'])} again, first on line {before}"
            raise InputError([Fault(str(path), actual, "each response once", number)])
        if prompt_id not in titles:
            titles[prompt_id] = _title(line)
    return items, titles


def _title(line: Mapping[str, Any]) -> str:
    prompt = line.get("prompt")
    return title_of(prompt) if isinstance(prompt, str) else str(line["prompt_id"])


def _swept(
    folder: Path, sweep: Mapping[str, Any], judgments: JudgmentFile
) -> tuple[list[Item], dict[str, str]]:
    """Return the answers that were judged, in the order of prompts, systems and conditions."""
    judged = {(judgment.prompt_id, judgment.id): judgment.system for judgment in judgments}
    lines = {
        (kept_line["prompt_id"], kept_line["id"]): kept_line
        for _, _, kept_line in kept_lines(folder / RESPONSES)
    }
    own = (folder / PROMPTS).is_file()
    prompts: dict[str, int] = {}
    for _, _, line in kept_lines(folder / (PROMPTS if own else RESPONSES)):
        if own or line.get("condition") == BASELINE:
            prompts.setdefault(line["prompt_id"], len(prompts))
    try:
        systems = {name: place for place, name in enumerate(sweep["systems"])}
        conditions = {name: place for place, name in enumerate((BASELINE, *sweep["conditions"]))}

        def place(key: tuple[str, str]) -> tuple[int, int, int]:
            line = lines[key]
            of_prompt = prompts.get(key[0], len(prompts))
            return of_prompt, systems[line["system"]], conditions[line["condition"]]

        ordered = sorted(judged, key=place)
    except _OTHER:
        raise _not_ours(folder / RESPONSES) from None
    titles: dict[str, str] = {}
    for key in ordered:
        titles.setdefault(key[0], _title(lines[key]))
    return [Item(*key, judged[key]) for key in ordered], titles


def _fill(run: Run, judgments: JudgmentFile, verdicts: Path) -> None:
    """Enter the judgments, and the verdicts that they came to."""
    rows = {item[:2]: row for row, item in enumerate(run.items)}
    columns = {judge: column for column, judge in enumerate(run.judges)}
    check = RatingCheck(run.rubric)
    faults: list[Fault] = []
    # What each judge said of whether the response abstains.
    abstained: list[list[bool | None]] = [[None] * len(columns) for _ in rows]
    for number, judgment in enumerate(judgments, start=1):
        row = rows.get((judgment.prompt_id, judgment.id))
        column = columns.get(judgment.judge)
        misfits = list(check.of(judgment))
        if row is None:
            name = f"the response {shown(judgment.prompt_id)}/{shown(judgment.id)}"
            misfits.append(Misfit("id", name, f"one of the run's, as in {RESPONSES}"))
        if column is None:
            name = f"the judge {shown(judgment.judge.id)}"
            misfits.append(Misfit("judge", name, "one of the run's, by run.json"))
        if misfits or row is None or column is None:
            path = str(judgments.path)
            faults += [
                Fault(path, what, expected, number, printable(field))
                for field, what, expected in misfits
            ]
            continue
        run.add(judgment)
        abstained[row][column] = judgment.abstained
    if faults:
        raise InputError(faults)
    known = _concluded(verdicts)
    statuses, whole, judges = run.statuses, run.whole, range(len(run.judges))
    for row, item in enumerate(run.items):
        if whole[row] if known is None else item[:2] in known:
            run.conclude(run.verdict_of(row, judges, statuses[row], abstained[row]))


def _concluded(path: Path) -> set[tuple[str, str]] | None:
    """Read which responses have verdicts from verdicts.csv."""
    try:
        return {(text_of(row["prompt_id"]), text_of(row["id"])) for row in own_rows(path)}
    except FileNotFoundError:
        return None
    except (OSError, *_OTHER, csv.Error):
        raise _not_ours(path) from None


def _restore_calls(run: Run, path: Path) -> None:
    """Restore a run's figures of calls from summary.json."""
    summary = kept_object(path)
    judging = {judge.model for judge in run.judges}
    try:
        calls = summary["calls"]
        run.calls = CallCounts(
            made=count_in(calls["made"]),
            unsent=count_in(calls.get("unsent", 0)),
            cached=count_in(calls["cached"]),
            taken_back=count_in(calls.get("taken_back", 0)),
            spent=_usages(calls["usage"]),
            estimated=Estimated(
                count_in(calls["estimated"]["calls"]), _usages(calls["estimated"]["usage"])
            ),
            odd={name: str(counts) for name, counts in calls["odd_usage"].items()},
            answered_by={
                model: {str(name): str(asked) for name, asked in names.items()}
                for model, names in calls.get("answered_by", {}).items()
            },
            faults=Counter({name: count_in(n) for name, n in calls["faults"].items()}),
            before=Spending(
                count_in(calls["earlier_runs"]["calls"]), _usages(calls["earlier_runs"]["usage"])
            ),
        )
        run.elapsed_s = seconds_in(summary["elapsed_s"])
        # Of models that do not judge, as a sweep's targets, no judgment tells it.
        run.usage |= {
            name: usage for name, usage in _usages(summary["usage"]).items() if name not in judging
        }
    except _OTHER:
        raise _not_ours(path) from None


def _usages(document: Mapping[str, Any]) -> dict[str, Usage]:
    return {name: usage_in(usage) for name, usage in document.items()}
