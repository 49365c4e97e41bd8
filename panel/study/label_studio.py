"""A study's packets as imports for Label Studio: a labelling configuration and tasks for each task.

A project of Label Studio has one configuration, so that ranking and rating are two projects for
each rater. Sources: labelstud.io/guide/tasks (tasks: a list of objects whose `data` has the fields
that the configuration names with `$`) and labelstud.io/tags (`Text`, `List`, `Ranker`, `Choices`,
`Number`, `TextArea`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from persona_panel.files.outputs import writing
from persona_panel.files.private_files import make_private_folder, replace_file
from persona_panel.study.kit import PACKETS, Study
from persona_panel.study.packet import NOT_ASSESSABLE, Packet, ShownDimension
from persona_panel.study.settings import Task

_MOST_CHOICES = 21
# With a hyphen, which no dimension's id has: a project must not have two fields of one name.
REASON = "written-reason"
_PROMPT, _TEXT, _TEXTS = "shown-prompt", "shown-text", "shown-texts"


def write_label_studio(study: Study, folder: Path) -> list[Path]:
    """Write RATER/TASK.xml and RATER/TASK.json for each rater and task; gives the files of tasks.

    Raises:
        RunFolderError: they cannot be written.
    """
    below = folder / PACKETS
    written = []
    with writing(below):
        for packet, keyed in zip(study.packets, study.key.packets, strict=True):
            own = below / keyed.rater
            make_private_folder(own)
            for task in packet.tasks:
                content = json.dumps(label_studio_tasks(packet, task), ensure_ascii=False, indent=1)
                replace_file(own / f"{task}.xml", label_studio_config(packet, task).encode())
                replace_file(own / f"{task}.json", content.encode())
                written.append(own / f"{task}.json")
    return written


def label_studio_tasks(packet: Packet, task: Task) -> list[dict[str, Any]]:
    """The tasks of a packet, in their order: sets to rank, or texts to rate."""
    if task == "rank":
        return [
            {
                "data": {
                    "packet": packet.packet,
                    "set": one.id,
                    "prompt": one.prompt,
                    "texts": [
                        {"id": text.id, "title": f"Text {text.label}", "body": _whole(text)}
                        for text in one.texts
                    ],
                }
            }
            for one in packet.sets
        ]
    return [
        {
            "data": {
                "packet": packet.packet,
                "set": one.id,
                "id": text.id,
                "prompt": one.prompt,
                "label": f"Text {text.label}",
                "text": _whole(text),
            }
        }
        for one in packet.sets
        for text in one.texts
    ]


def _whole(text: Any) -> str:
    return str(text.text) if text.context is None else f"{text.context}\n\n{text.text}"


def label_studio_config(packet: Packet, task: Task) -> str:
    """The labelling configuration of a task."""
    view = Element("View")
    SubElement(view, "Header", value=packet.instructions)
    SubElement(view, "Header", value=packet.question)
    SubElement(view, "Text", name=_PROMPT, value="$prompt")
    if task == "rank" and packet.ranking is not None:
        title = f"On top {packet.ranking.top}"
        SubElement(view, "List", name=_TEXTS, value="$texts", title=title)
        SubElement(view, "Ranker", name="rank", toName=_TEXTS)
        _reasons(view, _PROMPT, "Why did you rank them so?")
    else:
        SubElement(view, "Header", value="$label")
        SubElement(view, "Text", name=_TEXT, value="$text")
        for one in packet.dimensions:
            _dimension(view, one, packet.not_assessable)
        _reasons(view, _TEXT, "Why did you rate it so?")
    indent(view)
    return tostring(view, encoding="unicode") + "\n"


def _reasons(view: Element, of: str, question: str) -> None:
    SubElement(view, "Header", value=question)
    SubElement(view, "TextArea", name=REASON, toName=of, rows="5", maxSubmissions="1")


def _dimension(view: Element, one: ShownDimension, not_assessable: bool) -> None:
    SubElement(view, "Header", value=f"{one.label}: {one.definition} {one.question}")
    if (values := choices_of(one)) is None:
        step = "1" if one.kind == "integer" else "any"
        number = SubElement(view, "Number", name=one.id, toName=_TEXT, step=step)
        number.attrib.update({"min": str(one.min), "max": str(one.max)})
        return
    choices = SubElement(
        view, "Choices", name=one.id, toName=_TEXT, choice="single-radio", required="true"
    )
    for value, means in values:
        choice = SubElement(choices, "Choice", value=value)
        if means:
            choice.set("hint", means)
    if not_assessable:
        SubElement(choices, "Choice", value=NOT_ASSESSABLE, hint="Cannot be assessed")


def choices_of(one: ShownDimension) -> list[tuple[str, str]] | None:
    """The values of a scale, each with what it means, where they are few enough to choose from."""
    if one.kind == "category":
        return list(one.values)
    if one.kind == "real":
        return None
    low, high = int(one.min or 0), int(one.max or 0)
    if high - low >= _MOST_CHOICES:
        return None
    meanings = {low: one.low or "", high: one.high or ""}
    return [(str(value), meanings.get(value, "")) for value in range(low, high + 1)]
