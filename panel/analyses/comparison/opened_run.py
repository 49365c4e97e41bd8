"""A run as a comparison takes it: its ratings, and of its texts what tells them from others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from persona_panel.files.addresses import is_address
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.named_files import local_run, shown_folder
from persona_panel.files.outputs import TEXTS, sha256_of
from persona_panel.graphs import Judge
from persona_panel.rubrics import is_comparative
from persona_panel.runs.kept import RESPONSES, kept_lines, metadata_in, object_if_there
from persona_panel.runs.load import load_run
from persona_panel.runs.run import Run

PAIR = "pair"
"""The column of metadata by which responses to a prompt are paired."""
_A_RUN = "the folder of a run of `score`"


class KeptText(NamedTuple):
    """The SHA-256 of a response's prompt, and of its text and context; what pairs it; and what its
    metadata say, as text."""

    prompt: str | None
    text: tuple[str | None, str | None]
    pair: str | None
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class OpenedRun:
    """A run that is compared: `name` is its folder, `document` its run.json.

    Attributes:
        texts, rows: the responses with a verdict, by prompt's id and id, and their places in the
            run.
        columns: its judges, without those that are no part of the panel.
        finished: whether it came to its end.
    """

    name: str
    run: Run
    document: Mapping[str, Any]
    texts: dict[tuple[str, str], KeptText]
    rows: dict[tuple[str, str], int]
    columns: list[int]
    finished: bool

    @property
    def judges(self) -> list[Judge]:
        """Return the judges of `columns`."""
        return [self.run.judges[column] for column in self.columns]

    def system(self, key: tuple[str, str]) -> str:
        """Return the system that wrote a response."""
        return self.run.items[self.rows[key]].system


def open_run(supplied: Run | str | Path) -> OpenedRun:
    """Open a run that `compare` can take.

    Raises:
        InputError: it is no run of `score`, or nothing in it was scored; says what would do.
    """
    source = supplied if isinstance(supplied, Run) else local_run(supplied)
    folder = source.folder if isinstance(source, Run) else Path(source)
    if folder is None:
        actual, expected = (
            "a run that was not written",
            "one scored with out=FOLDER: texts are kept",
        )
        raise InputError([Fault("run", actual, expected)])
    # The path of an address has one slash.
    name = str(source) if is_address(source) else shown_folder(folder)
    _refuse_other_kinds(name, folder)
    run = source if isinstance(source, Run) else load_run(source)
    texts = {}
    for _, _, line in kept_lines(folder / RESPONSES):
        digests = [_digest(line, field) for field in TEXTS]
        pair = line.get(PAIR)
        texts[line["prompt_id"], line["id"]] = KeptText(
            digests[0],
            (digests[1], digests[2]),
            None if pair in (None, "") else str(pair),
            {
                name: str(value)
                for name, value in metadata_in(line).items()
                if value not in (None, "")
            },
        )
    places = {item[:2]: row for row, item in enumerate(run.items)}
    judged = [(verdict.prompt_id, verdict.id) for verdict in run.verdicts if verdict.n_judges]
    if not judged:
        why = ", ".join(f"{n:,} {status}" for status, n in run.coverage.missing.items())
        raise InputError(
            [
                Fault(
                    name,
                    "a run without a scored response" + (f" ({why})" if why else ""),
                    "ratings; judging the same responses into its folder again continues it",
                )
            ]
        )
    return OpenedRun(
        name,
        run,
        _document(folder),
        {key: texts[key] for key in judged},
        {key: places[key] for key in judged},
        run.ranking_columns()[0],
        (folder / "summary.json").is_file(),
    )


def _document(folder: Path) -> dict[str, Any]:
    """Read the run.json; return an empty object where that is none, of which `load_run` says what
    it is."""
    return object_if_there(folder / "run.json") or {}


def _refuse_other_kinds(name: str, folder: Path) -> None:
    """Refuse a folder of a command that scores variants of texts."""
    kinds = {
        "a sweep's folder": _document(folder).get("sweep") is not None,
        "an injection audit's folder": (folder / "injection.json").is_file(),
    }
    for kind, there in kinds.items():
        if there:
            raise InputError([Fault(name, kind, _A_RUN)])


def compares(opened: OpenedRun) -> bool:
    """Return whether its judges compare responses with each other, so that a rating says how good a
    response is among those of its run."""
    return any(_is_comparative(model["elicitation"]) for model in opened.document["models"])


def _is_comparative(elicitation: str) -> bool:
    try:
        return is_comparative(elicitation)
    except KeyError:
        # One of an extension that is not installed here.
        return False


def _digest(line: Mapping[str, Any], field: str) -> str | None:
    text = line.get(field)
    if isinstance(text, str):
        return sha256_of(text)
    kept = line.get(f"{field}_sha256")
    return kept if isinstance(kept, str) else None
