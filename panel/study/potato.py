"""A study's packets as projects of Potato: a YAML configuration and a data file for each task.

A project asks the same of each of its items, so that sets to rank are parted by how many texts they
have. Source: potatoannotator.readthedocs.io (configuration, schemas `radio`, `number`, `text`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import yaml

from persona_panel.files.outputs import writing
from persona_panel.files.private_files import make_private_folder, replace_file
from persona_panel.study.kit import PACKETS, Study
from persona_panel.study.label_studio import REASON, choices_of
from persona_panel.study.packet import (
    NOT_ASSESSABLE,
    Packet,
    RankingWords,
    ShownDimension,
    ShownText,
)

_CONFIG, _ITEMS = "config.yaml", "items.jsonl"


def write_potato(study: Study, folder: Path) -> list[Path]:
    """Write RATER/PROJECT/config.yaml and items.jsonl; gives the configurations.

    Raises:
        RunFolderError: they cannot be written.
    """
    below = folder / PACKETS
    written = []
    with writing(below):
        for packet, keyed in zip(study.packets, study.key.packets, strict=True):
            for name, config, items in potato_projects(packet):
                own = below / keyed.rater / name
                make_private_folder(own)
                text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
                lines = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)
                replace_file(own / _CONFIG, text.encode())
                replace_file(own / _ITEMS, lines.encode())
                written.append(own / _CONFIG)
    return written


def potato_projects(
    packet: Packet,
) -> Iterator[tuple[str, dict[str, Any], list[dict[str, str]]]]:
    """The projects of a packet: a name, the configuration and the items."""
    if packet.ranking is not None:
        for size in sorted({len(one.texts) for one in packet.sets}):
            items = [
                {"id": one.id, "text": _shown(one.prompt, one.texts)}
                for one in packet.sets
                if len(one.texts) == size
            ]
            labels = [text.label for one in packet.sets for text in one.texts]
            letters = list(dict.fromkeys(labels))[:size]
            name = f"rank-{size}"
            yield name, _config(packet, name, _ranks(letters, packet.ranking)), items
    if "rate" in packet.tasks:
        items = [
            {"id": text.id, "text": _shown(one.prompt, [text])}
            for one in packet.sets
            for text in one.texts
        ]
        schemes = [_scheme(one, packet.not_assessable) for one in packet.dimensions]
        yield "rate", _config(packet, "rate", [*schemes, _reason("Why did you rate it so?")]), items


def _shown(prompt: str, texts: Sequence[ShownText]) -> str:
    """A prompt and texts as markup, which Potato shows as such."""
    parts = [f"<p><b>{_marked(prompt)}</b></p>"]
    for one in texts:
        about = "" if one.context is None else f"<p><i>{_marked(one.context)}</i></p>"
        parts.append(f"<h3>Text {one.label}</h3>{about}<p>{_marked(one.text)}</p>")
    return "".join(parts)


def _marked(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def _ranks(letters: Sequence[str], words: RankingWords) -> list[dict[str, Any]]:
    ranks = [str(rank + 1) for rank in range(len(letters))]
    return [
        {
            "annotation_type": "radio",
            "name": f"rank_{letter}",
            "description": f"Rank of text {letter}. 1: {words.top}; equal texts may share a rank",
            "labels": ranks,
            "horizontal": True,
            "label_requirement": {"required": True},
        }
        for letter in letters
    ] + [_reason("Why did you rank them so?")]


def _scheme(one: ShownDimension, not_assessable: bool) -> dict[str, Any]:
    ends = "" if one.kind == "category" else f" ({one.min}: {one.low}; {one.max}: {one.high})"
    scheme: dict[str, Any] = {
        "name": one.id,
        "description": f"{one.label}. {one.definition} {one.question}{ends}",
        "label_requirement": {"required": True},
    }
    if (values := choices_of(one)) is None:
        return {"annotation_type": "number", **scheme, "min": _end(one.min), "max": _end(one.max)}
    labels: list[Any] = [
        {"name": value, "tooltip": means} if means else {"name": value} for value, means in values
    ]
    labels += [{"name": NOT_ASSESSABLE, "tooltip": "Cannot be assessed"}] * not_assessable
    return {"annotation_type": "radio", **scheme, "labels": labels, "horizontal": True}


def _end(value: int | str | None) -> float:
    return float(value or 0)


def _reason(question: str) -> dict[str, Any]:
    return {
        "annotation_type": "text",
        "name": REASON,
        "description": question,
        "multiline": True,
        "rows": 5,
    }


def _config(packet: Packet, name: str, schemes: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "annotation_task_name": f"Rating study {packet.packet} {name}",
        "annotation_instructions": packet.instructions,
        "task_dir": ".",
        "output_annotation_dir": "annotation_output",
        "export_annotation_format": "jsonl",
        "data_files": [_ITEMS],
        "item_properties": {"id_key": "id", "text_key": "text"},
        "user_config": {"allow_all_users": True, "users": []},
        "assignment_strategy": "fixed_order",
        "annotation_schemes": schemes,
        "site_dir": "default",
    }
