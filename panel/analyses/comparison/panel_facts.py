"""In what two panels differ, by what their run.json say, in a few words each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from persona_panel.analyses.comparison.opened_run import OpenedRun
from persona_panel.files.wording import printable
from persona_panel.graphs import Judge
from persona_panel.planning.settings import PanelSettings, recorded_settings

_SHOWN = 3
_HOW_MANY = frozenset({"replicates", "plain_judge", "seed"})
"""Settings that do not change how a judge is asked."""


def panel_differences(a: OpenedRun, b: OpenedRun) -> list[str]:
    """Say what makes the two panels two; nothing where the same panel judged twice."""
    first, second = a.document, b.document
    result = [*_rubrics(a, b)]
    runs = a.name, b.name
    result += _named("persona", first["personas"], second["personas"], runs)
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


def _rubrics(a: OpenedRun, b: OpenedRun) -> Iterable[str]:
    first, second = (item.document["rubric"] for item in (a, b))
    if first == second:
        return
    ids = [printable(str(item.get("id"))) for item in (first, second)]
    yield f"rubric ({ids[0]}; {ids[1]})" if ids[0] != ids[1] else f"rubric ({ids[0]}, reworded)"


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


def _named(
    what: str,
    first: Sequence[Mapping[str, Any]],
    second: Sequence[Mapping[str, Any]],
    runs: tuple[str, str],
) -> Iterable[str]:
    yield from _only(what, [item["id"] for item in first], [item["id"] for item in second], runs)
    theirs = {item["id"]: item for item in second}
    if changed := [item["id"] for item in first if theirs.get(item["id"], item) != item]:
        yield f"description of {what} {_some(changed)}"


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
