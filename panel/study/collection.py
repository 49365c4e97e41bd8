"""Answers collected: a rater's file checked against its packet, and unblinded: whose text each
rating is of, what is missing, what attention checks found."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import orjson
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from persona_panel.files.aligned_ratings import LEAST_SHARE
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.limits import json_of
from persona_panel.files.outputs import (
    csv_of_records,
    make_private_folder,
    replace_file,
    writing,
)
from persona_panel.files.selections import PROBABILITY
from persona_panel.files.wording import explain, printable, shown, some, unreadable
from persona_panel.results.conclusions.wording import counted
from persona_panel.rubrics import ItemForm, Rubric, Scale
from persona_panel.rubrics.rubric import CategoryScale, RealScale
from persona_panel.runs.run import Run
from persona_panel.study.design import SetRole
from persona_panel.study.packet import (
    NOT_ASSESSABLE,
    KeyedPacket,
    Packet,
    ShownDimension,
    ShownText,
    StudyKey,
    digest_of_json,
)

ANSWERS_SCHEMA: Literal["persona-panel/study-answers/1"] = "persona-panel/study-answers/1"
_MOST_BYTES = 20_000_000
_MOST_MILLISECONDS = 10**10
"""Four months in view: what is more is no time that a page was read."""


class _Answered(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class GivenRanking(_Answered):
    """The ranks of a set's texts, 1 the first; texts may share a rank or have none, also because
    the rater abstains (`not_assessable`)."""

    set: str
    ranks: dict[str, int | str]
    reason: str
    milliseconds: int = Field(ge=0, le=_MOST_MILLISECONDS)


class GivenScores(_Answered):
    """The scores of a text by dimension; of a scale of real numbers they are texts."""

    text: str
    scores: dict[str, int | str]
    reason: str
    milliseconds: int = Field(ge=0, le=_MOST_MILLISECONDS)


class StudyAnswers(_Answered):
    """A rater's answers; `exported` is the time in ISO 8601."""

    schema_: Literal["persona-panel/study-answers/1"] = ANSWERS_SCHEMA
    study: str
    packet: str
    packet_sha256: str
    consented: bool
    started: str | None
    exported: str
    rankings: tuple[GivenRanking, ...] = Field(strict=False)
    ratings: tuple[GivenScores, ...] = Field(strict=False)


@dataclass(frozen=True, slots=True)
class ReadAnswers:
    """The packets that were answered, one file each, with the answers and the file's name; faults
    of files that cannot be used; files left aside for a later one of the same packet."""

    answered: tuple[tuple[KeyedPacket, StudyAnswers, str], ...]
    faults: tuple[Fault, ...]
    replaced: tuple[str, ...]


def answers_by(
    packet: Packet,
    score: Callable[[ShownText, ShownDimension], int | str],
    merit: Callable[[ShownText], float],
    *,
    reason: Callable[[ShownText], str] = lambda text: "",
) -> dict[str, Any]:
    """Make a file of answers to a packet by a program in place of a person: to try a study out
    before anybody is asked.

    `score` is of a text on a dimension: whole numbers, a text on a scale of real numbers, or a
    category's name; `merit` of a text: the larger, the nearer to the first rank, equal ones share
    one; `reason` for the scores of a text, of a ranking that of the text that is first.
    """
    rankings, ratings = [], []
    for text_set in packet.sets:
        merits = {text.id: merit(text) for text in text_set.texts}
        ranks = {
            name: 1 + sum(other > own for other in merits.values()) for name, own in merits.items()
        }
        first = min(text_set.texts, key=lambda text: ranks[text.id])
        rankings.append(
            {"set": text_set.id, "ranks": ranks, "reason": reason(first), "milliseconds": 60_000}
        )
        for text in text_set.texts:
            scores = {each.id: score(text, each) for each in packet.dimensions}
            own = {"text": text.id, "scores": scores, "reason": reason(text)}
            ratings.append(own | {"milliseconds": 60_000})
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return sealed(
        {
            "schema": ANSWERS_SCHEMA, "study": packet.study, "packet": packet.packet,
            "packet_sha256": packet.digest, "consented": True, "started": now, "exported": now,
            "rankings": rankings if "rank" in packet.tasks else [],
            "ratings": ratings if "rate" in packet.tasks else [],
        }
    )  # fmt: skip


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return answers, all fields of the file but `sha256`, with their digest, as the page writes
    them."""
    return {**document, "sha256": digest_of_json(document)}


def read_answers(paths: Iterable[Path], key: StudyKey) -> ReadAnswers:
    """Read files of answers, of a folder all that end in .json; each that cannot be used is left
    out with its fault: another study's or packet's, one whose rater was shown something else or did
    not consent, whose digest is not that of its answers, or with an answer that is none of its
    scale. Of two of a packet the later counts."""
    latest: dict[str, tuple[KeyedPacket, StudyAnswers, str]] = {}
    faults: list[Fault] = []
    replaced: list[str] = []
    # A file has no files in it.
    for path in chain.from_iterable(sorted(path.glob("*.json")) or [path] for path in paths):
        read = _read(path, key)
        if isinstance(read, Fault):
            faults.append(read)
            continue
        packet, answers = read
        before = latest.get(packet.packet)
        if before is not None and before[1].exported > answers.exported:
            replaced.append(str(path))
            continue
        if before is not None:
            replaced.append(before[2])
        latest[packet.packet] = (packet, answers, str(path))
    order = [keyed.packet for keyed in key.packets]
    entries = sorted(latest.values(), key=lambda entry: order.index(entry[0].packet))
    return ReadAnswers(tuple(entries), tuple(faults), tuple(replaced))


def _read(path: Path, key: StudyKey) -> tuple[KeyedPacket, StudyAnswers] | Fault:
    file = str(path)
    expected = "answers that a packet of this study saved"
    try:
        if path.stat().st_size > _MOST_BYTES:
            return Fault(file, f"more than {_MOST_BYTES:,} bytes", expected)
        document = json_of(path)
    except OSError:
        return Fault(file, unreadable(path), expected)
    except (ValueError, RecursionError):
        return Fault(file, "no JSON, or a part of it", expected)
    if not isinstance(document, dict) or document.get("schema") != ANSWERS_SCHEMA:
        schema = shown(document.get("schema")) if isinstance(document, dict) else "another document"
        return Fault(file, schema, ANSWERS_SCHEMA, field="schema")
    digest = document.pop("sha256", None)
    try:
        own = digest_of_json(document)
        # Half a character, which no file of ratings can hold, is none that a page has saved.
        json.dumps(document, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        own = ""
    if digest != own:
        actual = "answers that are not those of its digest"
        return Fault(
            file, actual, "the file as the page saved it, not changed since", field="sha256"
        )
    document["schema_"] = document.pop("schema")
    try:
        answers = StudyAnswers.model_validate(document)
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        actual, wanted = explain(details)
        return Fault(file, actual, wanted, field=".".join(map(str, details["loc"])))
    packet = key.packet(answers.packet)
    if answers.study != key.study or packet is None:
        return Fault(
            file, f"answers of the study {printable(answers.study)}", f"of {key.study}",
            field="study" if answers.study != key.study else "packet",
        )  # fmt: skip
    if answers.packet_sha256 != packet.sha256:
        actual = f"answers to another version of the packet of {packet.rater}"
        expected = "answers to the packet that is in the study"
        return Fault(file, actual, expected, field="packet_sha256")
    if not answers.consented:
        return Fault(file, "no consent", "answers of a rater who consented", field="consented")
    return _odd_answer(file, answers, packet, key) or (packet, answers)


def _odd_answer(
    file: str, answers: StudyAnswers, packet: KeyedPacket, key: StudyKey
) -> Fault | None:
    """Return the first answer that the packet has no place for."""
    sets = {text_set.id: [text.id for text in text_set.texts] for text_set in packet.sets}
    texts = {text for those in sets.values() for text in those}
    for name, ids in (
        ("rankings", [ranking.set for ranking in answers.rankings]),
        ("ratings", [rating.text for rating in answers.ratings]),
    ):
        if len(set(ids)) < len(ids):
            return Fault(file, "an answer twice", "each once", field=name)
    for ranking in answers.rankings:
        known = sets.get(ranking.set)
        if known is None or not set(ranking.ranks) <= set(known):
            return Fault(file, "ids of another packet", "those of this one", field="rankings")
        abstains = {NOT_ASSESSABLE} if key.abstains else set()
        if not set(ranking.ranks.values()) <= {*range(1, len(known) + 1), *abstains}:
            wanted = f"ranks from 1 to {len(known)}"
            return Fault(file, "a rank that the set has not", wanted, field="rankings")
    dimensions = {dimension.id: dimension for dimension in key.rubric.dimensions}
    for rating in answers.ratings:
        if rating.text not in texts or not set(rating.scores) <= set(dimensions):
            return Fault(file, "ids of another packet", "those of this one", field="ratings")
        for name, value in rating.scores.items():
            if score_of(key.rubric, name, value) is None and not (
                value == NOT_ASSESSABLE and key.abstains
            ):
                return Fault(
                    file, shown(value), "a value of the scale", field=f"ratings.{printable(name)}"
                )
    return None


def score_of(rubric: Rubric, dimension: str, value: int | str) -> float | str | None:
    """Return an answer as a rating: a number, or the name of a category; None where it is none."""
    scale = next(rated.scale for rated in rubric.dimensions if rated.id == dimension)
    if isinstance(scale, CategoryScale):
        return value if isinstance(value, str) and value in scale.names else None
    if isinstance(scale, Scale):
        return value if isinstance(value, int) and value in scale.values else None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if isfinite(number) and scale.min <= number <= scale.max else None


@dataclass(frozen=True, slots=True)
class TextRating:
    """A rater's answers on a text, called `label` in the packet and shown in a set for this role.
    `scores` are by dimension, a number or the name of a category, without what was not answered or
    not assessable; `rank` is among the set's texts, 1 the first. `reason` is that of the scores; of
    a study without ratings, of the ranking."""

    rater: str
    set: str
    role: SetRole
    prompt_id: str
    response: str
    system: str
    scores: dict[str, float | str]
    rank: int | None
    reason: str
    label: str


@dataclass(frozen=True, slots=True)
class RaterProgress:
    """The progress of a rater, repeated sets and attention checks counted with the others: how many
    scores and ranks are expected and given (so many of them not assessable), the same of written
    reasons, the minutes that pages were in view, how many attention sets were answered, and how
    many otherwise than they asked; whether the rater is left out for it. `file` is None where none
    was read."""

    rater: str
    file: str | None
    expected: int
    given: int
    not_assessable: int
    reasons_expected: int
    reasons: int
    minutes: float
    attention: int
    attention_failed: int
    excluded: bool = False

    @property
    def missing(self) -> int:
        """Return how many scores and ranks are missing."""
        return self.expected - self.given


@dataclass(frozen=True, slots=True)
class CollectedStudy:
    """The progress of every rater, in the order of the packets, and the ratings of every text that
    was shown to a rater whose answers are there and who is not left out."""

    progress: tuple[RaterProgress, ...]
    ratings: tuple[TextRating, ...]


def collect_study(
    key: StudyKey, read: ReadAnswers, exclude_failed: int | None = None
) -> CollectedStudy:
    """Unblind the answers; nothing that is missing is filled in. Raters who failed so many
    attention checks, or as many as the study's own rule says, are left out."""
    limit = key.exclude_failed if exclude_failed is None else exclude_failed
    by_packet = {packet.packet: (answers, file) for packet, answers, file in read.answered}
    progress, ratings = [], []
    for packet in key.packets:
        answers, file = by_packet.get(packet.packet, (None, None))
        own = _progress_of(key, packet, answers, file)
        excluded = limit is not None and own.attention_failed >= limit
        progress.append(replace(own, excluded=excluded))
        if answers is not None and not excluded:
            ratings += _ratings_of(key, packet, answers)
    return CollectedStudy(tuple(progress), tuple(ratings))


def _progress_of(
    key: StudyKey, packet: KeyedPacket, answers: StudyAnswers | None, file: str | None
) -> RaterProgress:
    n_texts = sum(len(text_set.texts) for text_set in packet.sets)
    n_dimensions = len(key.rubric.dimensions)
    expected = ("rank" in key.tasks) * n_texts + ("rate" in key.tasks) * n_texts * n_dimensions
    reasons_expected = ("rank" in key.tasks) * len(packet.sets) + ("rate" in key.tasks) * n_texts
    rankings = () if answers is None else answers.rankings
    scored = () if answers is None else answers.ratings
    answered: list[GivenRanking | GivenScores] = [*rankings, *scored]
    values = [value for rating in scored for value in rating.scores.values()]
    values += [rank for ranking in rankings for rank in ranking.ranks.values()]
    checks = [] if answers is None else list(_attention(packet, answers))
    return RaterProgress(
        rater=packet.rater, file=file, expected=expected,
        given=len(values),
        not_assessable=values.count(NOT_ASSESSABLE), reasons_expected=reasons_expected,
        reasons=sum(bool(answer.reason.strip()) for answer in answered),
        minutes=sum(answer.milliseconds for answer in answered) / 60_000,
        attention=len(checks), attention_failed=checks.count(False),
    )  # fmt: skip


def _by_id(answers: StudyAnswers) -> tuple[dict[str, GivenRanking], dict[str, GivenScores]]:
    return (
        {ranking.set: ranking for ranking in answers.rankings},
        {rating.text: rating for rating in answers.ratings},
    )


def _attention(packet: KeyedPacket, answers: StudyAnswers) -> Iterator[bool]:
    """Return, for each attention set that was answered, whether it was answered as it asked."""
    rankings, scored = _by_id(answers)
    for text_set in packet.sets:
        if text_set.role != "attention":
            continue
        ranks = rankings[text_set.id].ranks if text_set.id in rankings else {}
        pairs: list[tuple[int | str, int | str | None]] = [
            (ranks[text.id], text.rank) for text in text_set.texts if text.id in ranks
        ]
        for text in text_set.texts:
            scores = scored[text.id].scores if text.id in scored else {}
            pairs += [(value, (text.scores or {}).get(name)) for name, value in scores.items()]
        if pairs:
            yield all(str(value) == str(asked) for value, asked in pairs)


def _ratings_of(key: StudyKey, packet: KeyedPacket, answers: StudyAnswers) -> list[TextRating]:
    rankings, scored = _by_id(answers)
    ratings = []
    for text_set in packet.sets:
        if text_set.role == "attention":
            continue
        ranking = rankings.get(text_set.id)
        for text in text_set.texts:
            rating = scored.get(text.id)
            scores = {} if rating is None else rating.scores
            read = {name: score_of(key.rubric, name, value) for name, value in scores.items()}
            answer = rating or ranking
            rank = None if ranking is None else ranking.ranks.get(text.id)
            ratings.append(
                TextRating(
                    packet.rater, text_set.id, text_set.role, str(text_set.prompt_id),
                    str(text.response), str(text.system),
                    {name: value for name, value in read.items() if value is not None},
                    rank if isinstance(rank, int) else None,
                    "" if answer is None else answer.reason.strip(), text.label,
                )
            )  # fmt: skip
    return ratings


def rating_tables(key: StudyKey, ratings: Iterable[TextRating]) -> dict[str, list[dict[str, Any]]]:
    """Return the ratings as rows that `load_ratings` reads, by task: `scores`, `labels` of
    dimensions that are categories, and `ranks`, each where there are any.

    Of a text that a rater saw twice they are the first answers. Items are called `prompt_id/id`, as
    those of a run. A column `group` has the groups of raters who have them; scores and labels of
    texts that `select` drew have its column `inclusion_probability`, for `people calibrate`.
    """
    groups = {packet.rater: packet.group for packet in key.packets}
    labels = set(key.rubric.categories)
    tables = dict[str, list[dict[str, Any]]]()
    for rating in ratings:
        if rating.role == "repeat":
            continue
        item = f"{rating.prompt_id}/{rating.response}"
        known: dict[str, str | None] = {"prompt": rating.prompt_id, "source": rating.system}
        if any(groups.values()):
            known["group"] = groups[rating.rater]
        own = {"item": item, "rater": rating.rater}
        if rating.rank is not None:
            tables.setdefault("ranks", []).append(own | {"rank": rating.rank} | known)
        if key.inclusion is not None:
            known[PROBABILITY] = repr(key.inclusion[item])
        for name, value in rating.scores.items():
            task, column = ("labels", "label") if name in labels else ("scores", "score")
            row = own | {"dimension": name, column: value} | known
            tables.setdefault(task, []).append(row)
    return {task: tables[task] for task in ("scores", "labels", "ranks") if task in tables}


def require_run_of(run: Run, name: str, key: StudyKey) -> None:
    """Raise InputError where a run, called `name` in the fault, judged less than 80 % of the
    study's texts, or by a rubric that shares no dimension with the study's, or not its scale."""
    judged = {f"{response.prompt_id}/{response.id}" for response in run.items}
    asked = {f"{of.prompt_id}/{text.response}" for _, of, text in key.texts() if text.response}
    faults = []
    if len(absent := sorted(asked - judged)) > (1 - LEAST_SHARE) * len(asked):
        problem = f"{len(absent):,} of the study's {counted(len(asked), 'text')} not judged"
        faults.append((f"{problem}: {some(absent)}", "a run of the study's texts"))
    own, others = ({each.id: each.scale for each in rubric.dimensions}
                   for rubric in (key.rubric, run.rubric))  # fmt: skip
    shared = own.keys() & others.keys()
    if "rate" in key.tasks and (
        not shared or any(_ends(own[name]) != _ends(others[name]) for name in shared)
    ):
        expected = f"dimensions and scales of the study's rubric, {key.rubric.id}"
        faults.append((f"a run by the rubric {run.rubric.id}", expected))
    if faults:
        raise InputError([Fault(name, *fault, field="--panel") for fault in faults])


def _ends(scale: Scale | RealScale | CategoryScale) -> tuple[float, float] | tuple[str, ...]:
    return scale.names if isinstance(scale, CategoryScale) else (scale.min, scale.max)


def write_tables(
    key: StudyKey, ratings: Sequence[TextRating], out: Path, *, overwrite: bool = False
) -> list[Path]:
    """Write what was collected; return the files written.

    `out` has the scores, and where nothing was to be scored the ranks; next to it are, named after
    it, `-rankings.csv`, `-labels.csv`, and the folder `-justifications` with responses.jsonl,
    rubric.yaml and ratings.csv; the tables are those of `rating_tables`. Raises InputError where
    such files are there with anything else, and not to be overwritten, RunFolderError where one
    cannot be written.
    """
    at = {
        "scores": out, "labels": _next_to(out, "-labels.csv"),
        "ranks": _next_to(out, "-rankings.csv") if "rate" in key.tasks else out,
    }  # fmt: skip
    tables = rating_tables(key, ratings)
    files = {at[task]: csv_of_records(rows) for task, rows in tables.items()}
    kept = [rating for rating in ratings if rating.role != "repeat" and rating.reason]
    if kept:
        files |= _justifications(key, kept, _next_to(out, "-justifications"))
    # What an earlier collection has written must not stand for this one.
    stale = {out, *(_next_to(out, ending) for ending in ("-rankings.csv", "-labels.csv"))}
    stale -= set(files)
    with writing(out):
        if not overwrite:
            _refuse_others(files, stale)
        for path in stale:
            path.unlink(missing_ok=True)
        for path, content in files.items():
            make_private_folder(path.parent)
            replace_file(path, content)
    return list(files)


def _refuse_others(files: Mapping[Path, bytes], stale: Iterable[Path]) -> None:
    """Refuse to change files that are there: people may have edited them."""
    others = [path for path, new in files.items() if path.exists() and path.read_bytes() != new]
    others += sorted(path for path in stale if path.exists())
    if others:
        expected = "another name, or --overwrite to replace it"
        raise InputError(
            [Fault(str(path), "a file that is there already", expected) for path in others]
        )


def _next_to(out: Path, ending: str) -> Path:
    return out.with_name(out.stem + ending)


def _justifications(
    key: StudyKey, ratings: Sequence[TextRating], folder: Path
) -> dict[Path, bytes]:
    """Return raters' reasons as responses, an item for each text and rater, the rubric to infer
    scores by, and the raters' own scores (or ranks) of the same items."""
    prompts = {prompt.prompt_id: prompt.prompt for prompt in key.prompts}
    lines = b"".join(
        orjson.dumps(
            {
                "prompt_id": rating.prompt_id, "id": f"{rating.response}~{rating.rater}",
                "prompt": prompts[rating.prompt_id],
                "context": f"The reasons are about the text that the reader calls {rating.label}.",
                "response": rating.reason, "system": rating.system, "rater": rating.rater,
                "item": f"{rating.prompt_id}/{rating.response}",
            }
        )
        + b"\n"
        for rating in ratings
    )  # fmt: skip
    # A file has scores, labels or ranks: what comes first of what there is.
    rows = next(iter(rating_tables(key, ratings).values()), [])
    for row in rows:
        row["item"] += f"~{row['rater']}"
        for name in ("group", PROBABILITY):
            row.pop(name, None)
    rubric = inferring_rubric(key.rubric).model_dump(
        mode="json", exclude_none=True, exclude={"variants"}
    )
    files = {
        "responses.jsonl": lines,
        "rubric.yaml": yaml.safe_dump(rubric, sort_keys=False, allow_unicode=True).encode(),
    }
    files |= {"ratings.csv": csv_of_records(rows)} if rows else {}
    return {folder / name: content for name, content in files.items()}


def inferring_rubric(rubric: Rubric) -> Rubric:
    """Return the same dimensions and scales, asked of what a reader wrote about a text: which score
    the reasons express, not assessable where they do not touch a dimension."""
    asked = (
        "Going by these reasons alone, which value would the reader give the text on this scale? "
        "The reader's question was: "
    )
    dimensions = tuple(
        each.model_copy(update={"guiding_question": asked + each.guiding_question})
        for each in rubric.dimensions
    )
    return Rubric(
        id="inferred",
        label=f"{rubric.label}, inferred from readers' reasons",
        question=(
            "Here are the reasons that a reader gave for judging a text, which you are not shown. "
            "Do not judge how well the reasons are written. Infer from them how the reader rates "
            "the text, which the definitions below call the response. The reader was asked: "
            f"{rubric.question}"
        ),
        dimensions=dimensions,
        not_assessable=True,
        composite=rubric.composite,
        item=ItemForm(prompt="prompt", context="subject", response="reasons"),
    )
