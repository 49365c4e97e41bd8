"""Published data of papers, read as responses and people's ratings in the files that every command
takes. Nothing of the data is shipped: a reader gets the files where `PUBLISHED` says, under their
licence.

Source of the columns of SCRuB's judgments: the README of the code published with the paper. The
columns of its texts are not documented in public: those accepted are the likely names, and a column
mapping takes any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import mean
from typing import Any

import orjson

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.limits import content_of, json_of
from persona_panel.files.outputs import (
    as_json,
    csv_of_records,
    json_lines,
    make_private_folder,
    replace_file,
    writing,
)
from persona_panel.files.records import (
    ColumnMapping,
    DataTable,
    Fields,
    Record,
    Report,
    Source,
    label_of,
    read_records,
)
from persona_panel.files.wording import did_you_mean, some, unreadable
from persona_panel.statistics.core.display import counted

PublishedRows = list[dict[str, Any]]
"""The rows of a file that is written, by their columns; all have the same."""


@dataclass(frozen=True, slots=True)
class PublishedData:
    """The files that published data become, by name, as rows; and the files that were read."""

    files: Mapping[str, PublishedRows]
    read: tuple[Path, ...]

    def counts(self) -> str:
        """Return how many texts, prompts and raters there are, with words a text, as a sentence;
        "" without texts. Words are what spaces part."""
        texts = self.files["responses.jsonl"]
        if not texts:
            return ""
        n_prompts = len({row["prompt_id"] for row in texts})
        words = mean(len(row["response"].split()) for row in texts)
        rated = self.files.get("ratings.csv") or self.files.get("rankings.csv", [])
        readers = {(row["item"], row["rater"]) for row in rated}
        n_rated = max(1, len({item for item, _ in readers}))
        return (
            f"{counted(len(texts), 'text')} to {counted(n_prompts, 'prompt')}, "
            f"{len(texts) / n_prompts:.1f} a prompt; {words:.1f} words a text; "
            f"{len(readers) / n_rated:.1f} raters a rated text."
        )


@dataclass(frozen=True, slots=True)
class Publication:
    """Published data: of which paper, where a reader gets them, under which licence, the file of
    people's ratings, which has to be there, the rubric that asks for the same, what reads them, and
    the fields of each file with the names that their columns may have."""

    paper: str
    where: str
    licence: str
    file: str
    rubric: str
    read: Callable[[Path, ColumnMapping], PublishedData]
    fields: tuple[Mapping[str, tuple[str, ...]], ...]


def read_published(name: str, path: Path, mapping: ColumnMapping | None = None) -> PublishedData:
    """Read the published data called `name` from a folder that holds their files somewhere, or from
    the file of ratings itself; `mapping` names columns that are called otherwise. Raises InputError
    where a file is not there or cannot be read, or lacks a column; lists every fault."""
    publication = PUBLISHED[name]
    known = {each for of in publication.fields for names in of.values() for each in names}
    if unknown := sorted(set(mapping or {}) - known):
        expected = f"one of {', '.join(sorted(known))}{did_you_mean(unknown[0], known)}"
        raise InputError([Fault(str(path), "an unknown field", expected, field=unknown[0])])
    if (place := _find(path, publication.file)) is None:
        fault = f"no {publication.file}" if path.is_dir() else unreadable(path)
        expected = f"{publication.file}, from {publication.where}"
        raise InputError([Fault(str(path), fault, expected)])
    return publication.read(place, mapping or {})


def write_published(name: str, data: PublishedData, folder: Path) -> list[Path]:
    """Write the files into a new folder, and source.json, which says where the data come from, with
    the SHA-256 of each file that was read; return those written. Raises InputError where there is
    anything in the folder, RunFolderError where it cannot be written."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        expected = "a new folder, so that nothing is overwritten"
        raise InputError([Fault(str(folder), "a folder that is not empty", expected)])
    publication = PUBLISHED[name]
    source = {
        "paper": publication.paper, "where": publication.where, "licence": publication.licence,
        "sha256": {path.name: sha256(content_of(path)).hexdigest() for path in data.read},
    }  # fmt: skip
    contents = {
        file: json_lines(rows) if file.endswith(".jsonl") else csv_of_records(rows)
        for file, rows in data.files.items()
        if rows
    }
    contents["source.json"] = as_json(source, orjson.OPT_INDENT_2)
    with writing(folder):
        make_private_folder(folder)
        for file, content in contents.items():
            replace_file(folder / file, content)
    return [folder / file for file in contents]


def _find(path: Path, name: str) -> Path | None:
    if path.is_file():
        return path
    return next(iter(sorted(path.rglob(name))), None)


def _records(
    source: Source | DataTable,
    fields: Mapping[str, tuple[str, ...]],
    mapping: ColumnMapping,
    report: Report,
    optional: Iterable[str] = (),
    gaps: Iterable[str] = (),
) -> Iterator[dict[str, Any]]:
    """Yield the cells of each line by the names of fields, its number among them. Columns that are
    `optional` may be missing, cells of these and of `gaps` be empty, which is None."""
    accepted = {name for names in fields.values() for name in names}
    own = {name: column for name, column in mapping.items() if name in accepted}
    described = Fields(tuple(fields.items()), frozenset(optional)).mapped(own, source)
    needed = set(fields) - {*optional, *gaps}
    for record in read_records(source, described, report):
        row = {field: _cell(record, field) for field in fields}
        empty = [each for each in fields if each in needed & set(record.names) and not row[each]]
        for field in empty:
            report.add("an empty value", "one", line=record.line, field=field)
        if not empty and needed <= set(record.names):
            yield row | {"line": record.line}


def _cell(record: Record, field: str) -> Any:
    value = record.cells.get(record.names.get(field, ""))
    if isinstance(value, list | dict):
        return value
    named = label_of(value)
    return named if isinstance(named, str) and named.strip() else None


def _number(row: Mapping[str, Any], field: str, report: Report) -> float | None:
    """Return a cell as a number, whole where it is; None where it is empty, or none, a fault."""
    if row[field] is None:
        return None
    try:
        value = float(row[field])
    except ValueError:
        report.add(repr(row[field]), "a number", line=row["line"], field=field)
        return None
    return int(value) if value.is_integer() else value


_SCRUB_ITEMS, _SCRUB_PROMPTS = "task2_annotation_items.csv", "study_prompts.csv"
_DIMENSIONS = (
    "conceptual_clarity", "evidential_grounding", "contextual_relevance", "pluralistic_engagement",
    "argumentative_soundness",
)  # fmt: skip
_STANDARD = "standard"


def _named(*names: str) -> dict[str, tuple[str, ...]]:
    return {name: (name,) for name in names}


_JUDGMENTS = _named(
    "prompt_id", "true_id", "item_type", "true_source", "model", "rank", *_DIMENSIONS
) | {"rater": ("judge_id", "annotator_id")}  # fmt: skip
_PROMPTS = _named("prompt_id") | {"prompt": ("prompt_text", "prompt", "question")}
_ITEMS = _PROMPTS | {
    "true_id": ("true_id", "response_id"), "response": ("response_text", "response", "text")
}  # fmt: skip
_SPEECHES = _named(
    "id", "topic_id", "topic", "source", "text", "goodopeningspeech", "labeler_ids"
)  # fmt: skip
_ARGUMENTS = _named("arg", "debate", "text", "ratings")
_INTERVENTIONS = _named("intervention_id", "intervention", "cqs")


def _scrub(file: Path, mapping: ColumnMapping) -> PublishedData:
    """Read SCRuB's second task: experts' scores by dimension and ranks; items that are no standard
    ones checked the experts, and become files of their own."""
    report = Report(str(file), mapping)
    files: dict[str, PublishedRows] = {"responses.jsonl": []}
    of: dict[tuple[str, str], dict[str, Any]] = {}
    for row in _records(file, _JUDGMENTS, mapping, report, ("model",), ("rank", *_DIMENSIONS)):
        own = row["prompt_id"], row["true_id"]
        facts = {
            "prompt": own[0], "source": row["model"] or row["true_source"],
            "author_type": row["true_source"], "domain": str(own[0]).partition("_")[0],
        }  # fmt: skip
        of.setdefault(own, facts)
        start = {"item": f"{own[0]}/{own[1]}", "rater": row["rater"]}
        checks = "" if row["item_type"] == _STANDARD else "calibration-"
        for dimension in _DIMENSIONS:
            if (score := _number(row, dimension, report)) is None:
                continue
            if not 1 <= float(score) <= 10:
                report.add(str(score), "a score from 1 to 10", line=row["line"], field=dimension)
            line = start | {"dimension": dimension, "score": score} | facts
            files.setdefault(f"{checks}ratings.csv", []).append(line)
        if (rank := _number(row, "rank", report)) is not None:
            files.setdefault(f"{checks}rankings.csv", []).append(start | {"rank": rank} | facts)
    if of and not {"ratings.csv", "rankings.csv"} & files.keys():
        report.add(f"no item that is {_STANDARD}", f"{_STANDARD} items", field="item_type")
    read = [file]
    files["responses.jsonl"] = list(_scrub_texts(file.parent, of, mapping, read, report))
    return _whole(files, read, report)


def _scrub_texts(
    folder: Path, of: Mapping[tuple[str, str], dict[str, Any]], mapping: ColumnMapping,
    read: list[Path], report: Report,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield the texts that experts judged, once each, where the files of texts are there: beside
    the judgments, and of prompts in the folder that the data set has for them."""
    items = folder / _SCRUB_ITEMS
    if not items.is_file():
        return
    prompts: dict[str, str] = {}
    places = (folder / _SCRUB_PROMPTS, folder.parent / "SCRuBSample" / _SCRUB_PROMPTS)
    if (listed := next(filter(Path.is_file, places), None)) is not None:
        own = Report(str(listed), mapping)
        rows = _records(listed, _PROMPTS, mapping, own)
        prompts = {row["prompt_id"]: row["prompt"] for row in rows}
        report.faults += own.faults
        read.append(listed)
    own = Report(str(items), mapping)
    seen: set[tuple[str, str]] = set()
    for row in _records(items, _ITEMS, mapping, own, ("prompt",) if prompts else ()):
        name = row["prompt_id"], row["true_id"]
        if name in of and name not in seen:
            seen.add(name)
            facts = {key: of[name][key] for key in ("author_type", "domain")}
            yield {
                "prompt_id": name[0], "id": name[1],
                "prompt": prompts.get(name[0]) or row["prompt"],
                "response": row["response"], "system": of[name]["source"],
            } | facts  # fmt: skip
    report.faults += own.faults
    read.append(items)


def _whole(
    files: Mapping[str, PublishedRows], read: Iterable[Path], report: Report
) -> PublishedData:
    if not report.faults and not any(files.values()):
        report.add("no lines", "a line for each rating")
    if report.faults:
        raise report.error()
    return PublishedData(files, tuple(read))


def _debate_speeches(file: Path, mapping: ColumnMapping) -> PublishedData:
    """Read speeches with their lists of scores, and the scores of other judges beside them."""
    report = Report(str(file), mapping)
    responses: PublishedRows = []
    ratings: PublishedRows = []
    of: dict[str, dict[str, str]] = {}
    for row in _records(file, _SPEECHES, mapping, report):
        of[row["id"]] = {"item": f"{row['topic_id']}/{row['id']}", "prompt": row["topic_id"],
                         "source": row["source"]}  # fmt: skip
        responses.append(
            {"prompt_id": row["topic_id"], "id": row["id"], "prompt": row["topic"],
             "response": row["text"], "system": row["source"]}
        )  # fmt: skip
        try:
            scores, raters = (orjson.loads(row[name]) for name in _LISTS)
            pairs = list(zip(raters, scores, strict=True))
        except (ValueError, TypeError):
            problem, expected = "no two lists of one length", "the scores, and who gave each"
            report.add(problem, expected, line=row["line"], field="goodopeningspeech")
            continue
        ratings += [of[row["id"]] | {"rater": f"person {rater}", "dimension": _OPENING,
                                     "score": score} for rater, score in pairs]  # fmt: skip
    read, judges = [file], list[dict[str, Any]]()
    for other in sorted(file.parent.glob("judge_*.csv")):
        own = Report(str(other))
        name = other.stem.removeprefix("judge_")
        for row in _records(other, {"id": ("id",), "score": ("score",)}, {}, own):
            score = _number(row, "score", own)
            if row["id"] in of and score is not None:
                judges.append(
                    of[row["id"]] | {"rater": name, "dimension": _OPENING, "score": score}
                )
        report.faults += own.faults
        read.append(other)
    files = {"responses.jsonl": responses, "ratings.csv": ratings, "judges.csv": judges}
    return _whole(files, read, report)


_OPENING = "good_opening"
_LISTS = ("goodopeningspeech", "labeler_ids")


def _argument_quality(file: Path, mapping: ColumnMapping) -> PublishedData:
    """Read arguments with novices' ratings by dimension and rater; "?" is no rating."""
    report = Report(str(file), mapping)
    responses: PublishedRows = []
    ratings: PublishedRows = []
    for row in _records(file, _ARGUMENTS, mapping, report):
        # What is called is-it-wrong-_yes-it-is is a question and a stance on it.
        prompt = row["debate"].replace("-", " ").replace("_", "– ")
        responses.append(
            {"prompt_id": row["debate"], "id": row["arg"], "prompt": prompt,
             "response": row["text"], "system": "debate portal"}
        )  # fmt: skip
        if not _is_nested(row["ratings"]):
            expected = "an object of ratings by dimension and rater"
            report.add("another value", expected, line=row["line"], field="ratings")
            continue
        for dimension, by_rater in row["ratings"].items():
            for rater, value in by_rater.items():
                cell = {"line": row["line"], dimension: None if value == "?" else value}
                if (score := _number(cell, dimension, report)) is not None:
                    item = {"item": f"{row['debate']}/{row['arg']}", "rater": rater}
                    rated = {"dimension": dimension.replace("-", "_"), "score": score}
                    ratings.append(item | rated | {"prompt": row["debate"]})
    return _whole({"responses.jsonl": responses, "ratings.csv": ratings}, [file], report)


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, dict) for each in value.values())


def _critical_questions(file: Path, mapping: ColumnMapping) -> PublishedData:
    """Read interventions with labelled questions; the questions are the references, too, of
    `questions match`."""
    report = Report(str(file), mapping)
    try:
        document = json_of(file)
    except OSError:
        raise InputError([Fault(str(file), unreadable(file), "a file of JSON")]) from None
    except ValueError:
        document = None
    if not isinstance(document, dict) or not document:
        actual = "no interventions" if document == {} else "no object in JSON"
        report.add(actual, "an object with an intervention for each name")
        raise report.error()
    responses: PublishedRows = []
    ratings: PublishedRows = []
    question = {name: (name,) for name in ("id", "cq", "label")}
    for row in _records(list(document.values()), _INTERVENTIONS, mapping, report):
        name = row["intervention_id"]
        for each in _records(row["cqs"], question, {}, report):
            # As the rubric's categories are called.
            label = str(each["label"]).lower()
            if label not in _QUESTION_LABELS:
                report.add(repr(label), some(_QUESTION_LABELS), line=row["line"], field="label")
            responses.append(
                {"prompt_id": name, "id": each["id"], "system": "questions",
                 "prompt": "Ask a critical question about the intervention.",
                 "context": row["intervention"], "response": each["cq"], "label": label}
            )  # fmt: skip
            rated = {"item": f"{name}/{each['id']}", "rater": "people", "label": label}
            ratings.append(rated | {"dimension": "usefulness", "prompt": name})
    return _whole({"responses.jsonl": responses, "ratings.csv": ratings}, [file], report)


_QUESTION_LABELS = ("useful", "unhelpful", "invalid")
_NO_LICENCE = "no licence file in the repository: ask before you publish any of it"
PUBLISHED: dict[str, Publication] = {
    "scrub": Publication(
        "SCRuB: social concept reasoning under rubric-based evaluation",
        "huggingface.co/datasets/facebook/SCRuB-dataset (a form is asked for)", "CC BY-NC-SA 4.0",
        "task2_human_judgments.csv", "scrub", _scrub, (_JUDGMENTS, _ITEMS),
    ),
    "debate-speeches": Publication(
        "Sternlicht et al., Debatable Intelligence",
        "github.com/noy-sternlicht/Debatable-Intelligence", _NO_LICENCE, "data.csv",
        "debate-speech", _debate_speeches, (_SPEECHES,),
    ),
    "argument-quality": Publication(
        "Mirzakhmedova et al., Are large language models reliable argument quality annotators?",
        "github.com/nelliemirz/llms-as-argument-quality-annotators (texts: "
        "github.com/UKPLab/acl2016-convincing-arguments)", "MIT; texts CC BY 4.0",
        "novice_ratings_with_text.json", "argument-quality:novice", _argument_quality,
        (_ARGUMENTS,),
    ),
    "critical-questions": Publication(
        "Calvo Figueras and Agerri, Benchmarking Critical Questions Generation",
        "github.com/hitz-zentroa/Benchmarking_CQs-Gen", _NO_LICENCE, "validation.json",
        "critical-question", _critical_questions, (_INTERVENTIONS,),
    ),
}  # fmt: skip
"""Published data by name."""
