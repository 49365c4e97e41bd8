"""What was collected, as files: ratings, rankings and labels that `agree` and `people correlate`
take, and raters' reasons that `score` takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import yaml

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.outputs import cell_of, csv_of, make_private_folder, replace_file, writing
from persona_panel.files.selections import PROBABILITY
from persona_panel.rubrics import ItemForm, Rubric
from persona_panel.study.collection import TextRating
from persona_panel.study.packet import StudyKey

_COLUMNS = ("item", "rater", "dimension", "score", "prompt", "source")
_LABEL_COLUMNS = ("item", "rater", "dimension", "label", "prompt", "source")


def write_tables(
    key: StudyKey, ratings: Sequence[TextRating], out: Path, *, overwrite: bool = False
) -> list[Path]:
    """Write what was collected; gives the files written.

    `out` has the scores, and where nothing was to be scored the ranks; next to it are, named after
    it, `-rankings.csv`, `-labels.csv` of dimensions that are categories, and the folder
    `-justifications` with responses.jsonl, rubric.yaml and ratings.csv. Of a text that a rater saw
    twice, the first answers are written. Items are called `prompt_id/id`, as those of a run. Scores
    and labels of texts that `select` drew have its column `inclusion_probability`, for `people
    calibrate`.

    Args:
        overwrite: whether files that are there, with anything else, are replaced.

    Raises:
        InputError: such files are there, and are not to be replaced; nothing is written.
        RunFolderError: a file cannot be written.
    """
    kept = [rating for rating in ratings if rating.role != "repeat"]
    labels = set(key.rubric.categories)
    scores = list(_rows(kept, {dimension.id for dimension in key.rubric.numeric}))
    ranks = [
        (_item(rating), rating.rater, rating.rank, rating.prompt_id, rating.system)
        for rating in kept
        if rating.rank is not None
    ]
    rank_columns = ("item", "rater", "rank", "prompt", "source")
    ranks_at = _next_to(out, "-rankings.csv") if "rate" in key.tasks else out
    files: dict[Path, bytes] = {}
    if scores:
        files[out] = _csv(*_with_inclusion(key, _COLUMNS, scores))
    if ranks:
        files[ranks_at] = _csv(rank_columns, ranks)
    if labels and (rows := list(_rows(kept, labels))):
        labels_at = _next_to(out, "-labels.csv")
        files[labels_at] = _csv(*_with_inclusion(key, _LABEL_COLUMNS, rows))
    if any(rating.reason for rating in kept):
        files |= _justifications(key, kept, _next_to(out, "-justifications"))
    # What an earlier collection has written must not stand for this one.
    endings = ("-rankings.csv", "-labels.csv")
    stale = {out, *(_next_to(out, ending) for ending in endings)} - set(files)
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


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    lines = [[cell_of(value) if isinstance(value, str) else value for value in row] for row in rows]
    return csv_of([columns, *lines])


def _with_inclusion(
    key: StudyKey, columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> tuple[Sequence[str], list[Sequence[Any]]]:
    """Return a table with the probability of each row's item, where items were drawn; the item
    stands first."""
    if key.inclusion is None:
        return columns, list(rows)
    known = key.inclusion
    return (*columns, PROBABILITY), [(*row, repr(known[row[0]])) for row in rows]


def _item(rating: TextRating) -> str:
    return f"{rating.prompt_id}/{rating.response}"


def _rows(ratings: Iterable[TextRating], dimensions: set[str]) -> Iterator[tuple[Any, ...]]:
    for rating in ratings:
        for name, value in rating.scores.items():
            if name in dimensions:
                yield _item(rating), rating.rater, name, value, rating.prompt_id, rating.system


# Scores inferred from what raters wrote.


def _justifications(
    key: StudyKey, ratings: Sequence[TextRating], folder: Path
) -> dict[Path, bytes]:
    """Return raters' reasons as responses, the rubric to infer scores by, and the raters' own
    scores (or ranks) of the same items.

    An item is a text and a rater, since each rater's reason is a response of its own.
    """
    prompts = {prompt.prompt_id: prompt.prompt for prompt in key.prompts}
    written = [rating for rating in ratings if rating.reason]
    ranks_alone = "rate" not in key.tasks
    lines = b"".join(
        orjson.dumps(
            {
                "prompt_id": rating.prompt_id,
                "id": _reason_id(rating),
                "prompt": prompts[rating.prompt_id],
                "context": f"The reasons are about the text that the reader calls {rating.label}.",
                "response": rating.reason,
                "system": rating.system,
                "rater": rating.rater,
            }
        )
        + b"\n"
        for rating in written
    )
    rows: list[tuple[Any, ...]]
    if ranks_alone:
        columns: tuple[str, ...] = ("item", "rater", "rank", "prompt", "source")
        rows = [
            (
                f"{rating.prompt_id}/{_reason_id(rating)}",
                rating.rater,
                rating.rank,
                rating.prompt_id,
                rating.system,
            )
            for rating in written
            if rating.rank is not None
        ]
    else:
        # A file has scores or labels: labels where the rubric has nothing else.
        numeric = {dimension.id for dimension in key.rubric.numeric}
        columns = _COLUMNS if numeric else _LABEL_COLUMNS
        chosen = numeric or set(key.rubric.categories)
        rows = [
            (f"{rating.prompt_id}/{_reason_id(rating)}", rating.rater, name, value,
             rating.prompt_id, rating.system)
            for rating in written
            for name, value in rating.scores.items()
            if name in chosen
        ]  # fmt: skip
    rubric = inferring_rubric(key.rubric).model_dump(
        mode="json", exclude_none=True, exclude={"variants"}
    )
    return {
        folder / "responses.jsonl": lines,
        folder / "rubric.yaml": yaml.safe_dump(
            rubric, sort_keys=False, allow_unicode=True
        ).encode(),
        folder / "ratings.csv": _csv(columns, rows),
    }


def _reason_id(rating: TextRating) -> str:
    return f"{rating.response}~{rating.rater}"


def inferring_rubric(rubric: Rubric) -> Rubric:
    """Return the same dimensions and scales, asked of what a reader wrote about a text: which score
    the reasons express.

    The reasons themselves are not to be judged, and a dimension that they do not touch is not
    assessable.
    """
    dimensions = tuple(
        dimension.model_copy(
            update={
                "guiding_question": "Going by these reasons alone, which value would the reader "
                "give the text on this scale? The reader's question was: "
                f"{dimension.guiding_question}"
            }
        )
        for dimension in rubric.dimensions
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
