"""A run as a comparison takes it: its ratings, and of its texts what tells them from others;
and in what the panels of two runs differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from persona_panel.files.addresses import is_address
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.named_files import local_run, shown_folder
from persona_panel.files.outputs import TEXTS, prompt_name, sha256_of
from persona_panel.files.wording import printable, some
from persona_panel.graphs import Judge
from persona_panel.planning.settings import PanelSettings, recorded_language, recorded_settings
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

    def named(self, prompt_ids: Iterable[str]) -> str:
        """Return the first of these prompts in words."""
        assert self.run.folder is not None  # noqa: S101
        first = list(islice(prompt_ids, 4))
        lines = (line for _, _, line in kept_lines(self.run.folder / RESPONSES))
        texts = {line["prompt_id"]: str(line.get("prompt", "")) for line in lines}
        return some((prompt_name(each, texts[each], printable) for each in first), as_=str)


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
    """Read the run.json; return an empty object where there is none."""
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


_SHOWN = 3
_HOW_MANY = frozenset({"replicates", "plain_judge", "seed"})
"""Settings that do not change how a judge is asked."""


def panel_differences(
    first: Mapping[str, Any], second: Mapping[str, Any], runs: tuple[str, str]
) -> list[str]:
    """Say what makes two panels two, by their runs' run.json and names; nothing where the same
    panel judged twice."""
    languages = [recorded_language(document) for document in (first, second)]
    # In another language all words of a rubric and of personas are others.
    is_same = languages[0] == languages[1]
    result = [] if is_same else [f"language ({languages[0]}; {languages[1]})"]
    result += _rubrics(first, second, is_same)
    result += _personas(first["personas"], second["personas"], runs, is_same)
    result += _models(first["models"], second["models"], runs)
    switches = [_switches(document) for document in (first, second)]
    for name, value in switches[0].items():
        if name != "seed" and value != (other := switches[1].get(name)):
            result.append(f"{_words(name)} ({_value(value)}; {_value(other)})")
    # Of the same panel in other words: another version of this package asked.
    if not result and first.get("prompts") != second.get("prompts"):
        result.append("wording of the questions")
    return result


def version_differences(a: OpenedRun, b: OpenedRun) -> list[str]:
    """Say what may change ratings besides the panel: seeds and versions of this package."""
    keys = {"seed": "seed", "version": "version of persona-panel"}
    return [
        f"{words} ({a.document.get(key)}; {b.document.get(key)})"
        for key, words in keys.items()
        if a.document.get(key) != b.document.get(key)
    ]


def judges_in_both(a: OpenedRun, b: OpenedRun) -> set[Judge]:
    """Return the judges of either run who are the same in the other: asked alike by the same
    rubric, of the same description, by a model with the same settings. An id alone does not say
    that."""
    first, second = a.document, b.document
    asked = [
        {name: value for name, value in _switches(document).items() if name not in _HOW_MANY}
        for document in (first, second)
    ]
    if first["rubric"] != second["rubric"] or asked[0] != asked[1]:
        return set()
    personas, models = (
        [
            {item["id"]: _settings(item) if kind == "models" else item for item in document[kind]}
            for document in (first, second)
        ]
        for kind in ("personas", "models")
    )
    return {
        judge
        for judge in {*a.judges} & {*b.judges}
        if personas[0].get(judge.persona) == personas[1].get(judge.persona)
        and models[0].get(judge.model) == models[1].get(judge.model)
    }


def _switches(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the panel's settings, and the nodes of a graph of one's own."""
    return {**recorded_settings(document), "graph": document.get("graph")}


def _words(setting: str) -> str:
    field = PanelSettings.model_fields.get(setting)
    return (field and field.title) or setting.replace("_", " ")


def _settings(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a model was called with."""
    return {"model": model.get("model"), **model.get("parameters", {})}


def _rubrics(a: Mapping[str, Any], b: Mapping[str, Any], is_same_language: bool) -> Iterable[str]:
    first, second = a["rubric"], b["rubric"]
    ids = [printable(str(item.get("id"))) for item in (first, second)]
    if ids[0] != ids[1]:
        yield f"rubric ({ids[0]}; {ids[1]})"
    elif first != second and is_same_language:
        yield f"rubric ({ids[0]}, reworded)"


def _models(
    first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]], runs: tuple[str, str]
) -> Iterable[str]:
    yield from _only("model", [item["id"] for item in first], [item["id"] for item in second], runs)
    ways = [sorted({model["elicitation"] for model in side}) for side in (first, second)]
    if ways[0] != ways[1]:
        yield f"elicitation ({', '.join(ways[0])}; {', '.join(ways[1])})"
    theirs = {model["id"]: model for model in second}
    for model in first:
        other = theirs.get(model["id"])
        if other is None:
            continue
        ours, its = map(_settings, (model, other))
        if changed := [key for key in {**ours, **its} if ours.get(key) != its.get(key)]:
            yield f"settings of model {printable(model['id'])} ({_some(changed)})"


def _personas(
    first: Sequence[Mapping[str, Any]],
    second: Sequence[Mapping[str, Any]],
    runs: tuple[str, str],
    is_same_language: bool,
) -> Iterable[str]:
    ids = [item["id"] for item in first]
    yield from _only("persona", ids, [item["id"] for item in second], runs)
    theirs = {item["id"]: item for item in second}
    changed = [item["id"] for item in first if theirs.get(item["id"], item) != item]
    if changed and is_same_language:
        yield f"description of persona {_some(changed)}"


def _only(
    what: str, first: Sequence[str], second: Sequence[str], runs: tuple[str, str]
) -> Iterable[str]:
    gone = [name for name in first if name not in second]
    new = [name for name in second if name not in first]
    if gone and new:
        yield f"{what}s ({_some(gone)}; {_some(new)})"
    elif gone or new:
        names = gone or new
        those = "the plain judge" if what == "persona" and names == ["none"] else _some(names)
        yield f"{what}s (only {runs[not gone]} has {those})"


def _some(names: Sequence[str]) -> str:
    text = ", ".join(map(printable, names[:_SHOWN]))
    more = len(names) - _SHOWN
    return f"{text} and {more} more" if more > 0 else text


def _value(value: Any) -> str:
    if value in (None, False):
        return "none"
    return str(value) if isinstance(value, str | int | float) and value is not True else "yes"
