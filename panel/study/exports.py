"""A study's packets in the forms that raters work with: HTML files that need no server, imports for
Label Studio, projects of Potato.

A project of Label Studio has one configuration, so that ranking and rating are two projects for
each rater. Sources: labelstud.io/guide/tasks (tasks: a list of objects whose `data` has the fields
that the configuration names with `$`) and labelstud.io/tags (`Text`, `List`, `Ranker`, `Choices`,
`Number`, `TextArea`).

A project of Potato asks the same of each of its items, so that sets to rank are parted by how many
texts they have. Source: potatoannotator.readthedocs.io (configuration, schemas `radio`, `number`,
`text`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from html import escape
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import ValidationError

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.limits import content_of
from persona_panel.files.outputs import make_private_folder, replace_file, writing
from persona_panel.files.pages import content_source
from persona_panel.files.wording import unreadable
from persona_panel.study.design import Task
from persona_panel.study.kit import PACKETS, Study
from persona_panel.study.packet import (
    NOT_ASSESSABLE,
    Packet,
    RankingWords,
    ShownDimension,
    ShownText,
)

_PACKAGE = "persona_panel.study"
_SCRIPT_ID = "packet"
# So that no text can end the element that it is in, nor begin another.
_UNSAFE = re.compile("[<>&\u2028\u2029\x7f\ud800-\udfff]")


def packet_page(packet: Packet) -> str:
    """Return the page: the packet as JSON, and the script that shows it and takes the answers. It
    may run this script and use this style sheet, and load nothing."""
    document = json.dumps(packet.as_json() | {"sha256": packet.digest}, ensure_ascii=False)
    made = Environment(
        loader=PackageLoader(_PACKAGE), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    policy = [
        "default-src 'none'", f"script-src {content_source(_part('packet.js'))}",
        f"style-src {content_source(_part('packet.css'))}", "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip
    return made.get_template("packet.html.jinja").render(
        policy="; ".join(policy),
        packet=packet,
        # Ours, or escaped for a script element; escaped as markup they would not be the same.
        style=Markup(_part("packet.css")),  # noqa: S704
        script=Markup(_part("packet.js")),  # noqa: S704
        data=Markup(_UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", document)),  # noqa: S704
    )


def packet_in(page: Path) -> Packet:
    """Read the packet in a page, for whoever answers it by a program; raises InputError where the
    file cannot be read, or has no packet of this version."""
    expected = "a packet of `people make`"
    reader = _DataReader()
    try:
        reader.feed(content_of(page).decode())
        document = json.loads(reader.text)
        document.pop("sha256", None)
        return Packet.from_json(document)
    except OSError:
        raise InputError([Fault(str(page), unreadable(page), expected)]) from None
    except (ValueError, AttributeError, ValidationError):
        raise InputError([Fault(str(page), "no packet", expected)]) from None


class _DataReader(HTMLParser):
    """Takes the text of the element that has the packet."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag == "script" and ("id", _SCRIPT_ID) in attrs

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.text += data


@cache
def _part(name: str) -> str:
    """Return the style sheet or the script as it is inlined."""
    return files(_PACKAGE).joinpath("templates", name).read_text("utf-8").strip()


def _write(
    study: Study, folder: Path, files_of: Callable[[Packet], Iterable[tuple[str, str]]], listed: str
) -> list[Path]:
    """Write the files of each packet, by what follows the rater's name."""
    below = folder / PACKETS
    written = []
    with writing(below):
        for packet, keyed in zip(study.packets, study.key.packets, strict=True):
            for ending, content in files_of(packet):
                path = below / f"{keyed.rater}{ending}"
                make_private_folder(path.parent)
                replace_file(path, content.encode())
                written += [path] if ending.endswith(listed) else []
    return written


def write_pages(study: Study, folder: Path) -> list[Path]:
    """Write a page for each rater, named after the rater. Raises RunFolderError."""
    return _write(study, folder, lambda packet: [(".html", packet_page(packet))], ".html")


_MOST_CHOICES = 21
# With a hyphen, which no dimension's id has: a project must not have two fields of one name.
REASON = "written-reason"
_PROMPT, _TEXT, _TEXTS = "shown-prompt", "shown-text", "shown-texts"


def write_label_studio(study: Study, folder: Path) -> list[Path]:
    """Write RATER/TASK.xml and RATER/TASK.json for each rater and task; return the files of tasks.
    Raises RunFolderError."""

    def files_of(packet: Packet) -> Iterator[tuple[str, str]]:
        for task in packet.tasks:
            content = json.dumps(label_studio_tasks(packet, task), ensure_ascii=False, indent=1)
            yield f"/{task}.xml", label_studio_config(packet, task)
            yield f"/{task}.json", content

    return _write(study, folder, files_of, ".json")


def label_studio_tasks(packet: Packet, task: Task) -> list[dict[str, Any]]:
    """Return the tasks of a packet, in their order: sets to rank, or texts to rate."""
    tasks: list[dict[str, Any]] = []
    for text_set in packet.sets:
        of = {"packet": packet.packet, "set": text_set.id, "prompt": text_set.prompt}
        shown = [(text.id, f"Text {text.label}", _whole(text)) for text in text_set.texts]
        if task == "rank":
            texts = [dict(zip(("id", "title", "body"), text, strict=True)) for text in shown]
            tasks.append({"data": {**of, "texts": texts}})
        else:
            names = ("id", "label", "text")
            tasks += [{"data": {**of, **dict(zip(names, text, strict=True))}} for text in shown]
    return tasks


def _whole(text: Any) -> str:
    return str(text.text) if text.context is None else f"{text.context}\n\n{text.text}"


def label_studio_config(packet: Packet, task: Task) -> str:
    """Return the labelling configuration of a task."""
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
        for dimension in packet.dimensions:
            _dimension(view, dimension, packet.not_assessable)
        _reasons(view, _TEXT, "Why did you rate it so?")
    indent(view)
    return tostring(view, encoding="unicode") + "\n"


def _reasons(view: Element, of: str, question: str) -> None:
    SubElement(view, "Header", value=question)
    SubElement(view, "TextArea", name=REASON, toName=of, rows="5", maxSubmissions="1")


def _dimension(view: Element, dimension: ShownDimension, not_assessable: bool) -> None:
    SubElement(
        view, "Header", value=f"{dimension.label}: {dimension.definition} {dimension.question}"
    )
    if (values := choices_of(dimension)) is None:
        step = "1" if dimension.kind == "integer" else "any"
        number = SubElement(view, "Number", name=dimension.id, toName=_TEXT, step=step)
        number.attrib.update({"min": str(dimension.min), "max": str(dimension.max)})
        return
    choices = SubElement(
        view, "Choices", name=dimension.id, toName=_TEXT, choice="single-radio", required="true"
    )
    for value, means in values:
        choice = SubElement(choices, "Choice", value=value)
        if means:
            choice.set("hint", means)
    if not_assessable:
        SubElement(choices, "Choice", value=NOT_ASSESSABLE, hint="Cannot be assessed")


def choices_of(dimension: ShownDimension) -> list[tuple[str, str]] | None:
    """Return the values of a scale, each with what it means, where they are few enough to choose
    from."""
    if dimension.kind == "category":
        return list(dimension.values)
    if dimension.kind == "real":
        return None
    low, high = int(dimension.min or 0), int(dimension.max or 0)
    if high - low >= _MOST_CHOICES:
        return None
    meanings = {low: dimension.low or "", high: dimension.high or ""}
    return [(str(value), meanings.get(value, "")) for value in range(low, high + 1)]


_CONFIG, _ITEMS = "config.yaml", "items.jsonl"


def write_potato(study: Study, folder: Path) -> list[Path]:
    """Write RATER/PROJECT/config.yaml and items.jsonl; return the configurations. Raises
    RunFolderError."""

    def files_of(packet: Packet) -> Iterator[tuple[str, str]]:
        for name, config, items in potato_projects(packet):
            text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
            yield f"/{name}/{_CONFIG}", text
            lines = (json.dumps(item, ensure_ascii=False) + "\n" for item in items)
            yield f"/{name}/{_ITEMS}", "".join(lines)

    return _write(study, folder, files_of, _CONFIG)


def potato_projects(packet: Packet) -> Iterator[tuple[str, dict[str, Any], list[dict[str, str]]]]:
    """Yield the projects of a packet: a name, the configuration and the items."""
    if packet.ranking is not None:
        for size in sorted({len(text_set.texts) for text_set in packet.sets}):
            items = [
                {"id": text_set.id, "text": _shown(text_set.prompt, text_set.texts)}
                for text_set in packet.sets
                if len(text_set.texts) == size
            ]
            labels = [text.label for text_set in packet.sets for text in text_set.texts]
            letters = list(dict.fromkeys(labels))[:size]
            name = f"rank-{size}"
            yield name, _config(packet, name, _ranks(letters, packet.ranking)), items
    if "rate" in packet.tasks:
        items = [
            {"id": text.id, "text": _shown(text_set.prompt, [text])}
            for text_set in packet.sets
            for text in text_set.texts
        ]
        schemes = [_scheme(dimension, packet.not_assessable) for dimension in packet.dimensions]
        yield "rate", _config(packet, "rate", [*schemes, _reason("Why did you rate it so?")]), items


def _shown(prompt: str, texts: Sequence[ShownText]) -> str:
    """Return a prompt and texts as markup, which Potato shows as such."""
    parts = [f"<p><b>{_marked(prompt)}</b></p>"]
    for part in texts:
        about = "" if part.context is None else f"<p><i>{_marked(part.context)}</i></p>"
        parts.append(f"<h3>Text {part.label}</h3>{about}<p>{_marked(part.text)}</p>")
    return "".join(parts)


def _marked(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def _ranks(letters: Sequence[str], words: RankingWords) -> list[dict[str, Any]]:
    ranks = [str(rank + 1) for rank in range(len(letters))]
    return [
        {
            "annotation_type": "radio", "name": f"rank_{letter}",
            "description": f"Rank of text {letter}. 1: {words.top}; equal texts may share a rank",
            "labels": ranks, "horizontal": True, "label_requirement": {"required": True},
        }
        for letter in letters
    ] + [_reason("Why did you rank them so?")]  # fmt: skip


def _scheme(dimension: ShownDimension, not_assessable: bool) -> dict[str, Any]:
    ends = f" ({dimension.min}: {dimension.low}; {dimension.max}: {dimension.high})"
    ends = "" if dimension.kind == "category" else ends
    scheme: dict[str, Any] = {
        "name": dimension.id,
        "description": f"{dimension.label}. {dimension.definition} {dimension.question}{ends}",
        "label_requirement": {"required": True},
    }
    if (values := choices_of(dimension)) is None:
        low, high = (float(end or 0) for end in (dimension.min, dimension.max))
        return {"annotation_type": "number", **scheme, "min": low, "max": high}
    labels: list[Any] = [
        {"name": value, "tooltip": means} if means else {"name": value} for value, means in values
    ]
    labels += [{"name": NOT_ASSESSABLE, "tooltip": "Cannot be assessed"}] * not_assessable
    return {"annotation_type": "radio", **scheme, "labels": labels, "horizontal": True}


def _reason(question: str) -> dict[str, Any]:
    of = {"annotation_type": "text", "name": REASON, "description": question}
    return {**of, "multiline": True, "rows": 5}


def _config(packet: Packet, name: str, schemes: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "annotation_task_name": f"Rating study {packet.packet} {name}",
        "annotation_instructions": packet.instructions, "task_dir": ".",
        "output_annotation_dir": "annotation_output", "export_annotation_format": "jsonl",
        "data_files": [_ITEMS], "item_properties": {"id_key": "id", "text_key": "text"},
        "user_config": {"allow_all_users": True, "users": []},
        "assignment_strategy": "fixed_order", "annotation_schemes": schemes, "site_dir": "default",
    }  # fmt: skip
