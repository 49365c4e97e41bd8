"""Items of existing sets: read, and those left out that a SPEC's rules do not keep."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from persona_panel.experiments.prompt_sets.candidates import (
    DroppedPrompt,
    FunnelStep,
    SeedItem,
    funnel_step,
)
from persona_panel.experiments.prompt_sets.places import filled, places_in
from persona_panel.experiments.prompt_sets.spec import ItemSource, KeepRule
from persona_panel.files.file_formats import FileRow, file_rows
from persona_panel.files.records import Report
from persona_panel.files.wording import did_you_mean

_NAMES_SHOWN = 12


def read_items(source: ItemSource, folder: Path) -> list[SeedItem]:
    """The items of a source's file, in its order.

    Raises:
        InputError: the file cannot be read, lacks a field that the source names, has an empty item
            or an id twice; lists every fault.
    """
    path = folder / source.file
    report = Report(str(path))
    rows = [row for row in file_rows(path, frozenset(), report.add) if isinstance(row, FileRow)]
    known = dict.fromkeys(name for row in rows for name in row.cells)
    for key, name in _named(source):
        if rows and name not in known:
            shown = ", ".join([*known][:_NAMES_SHOWN])
            report.add(
                f"no field {name!r}, which {key} of the source {source.id!r} names",
                f"one of {shown}{did_you_mean(name, known)}",
            )
    if not rows and not report.faults:
        report.add("no items", "at least one")
    if report.faults:
        raise report.error()
    items, seen = [], dict[str, int]()
    for number, row in enumerate(rows, start=1):
        cells = {name: _text(value) for name, value in row.cells.items()}
        text = filled(
            source.text, {place: cells.get(place, "") for place in places_in(source.text)}
        )
        own = cells.get(source.item_id, "") if source.item_id else str(number)
        if not text.strip():
            report.add("an empty item", "text", line=row.line)
        if not own:
            report.add("nothing", "an id", line=row.line, field=source.item_id)
        elif (first := seen.setdefault(own, row.line)) != row.line:
            found = f"{own!r} again, first on line {first}"
            report.add(found, "an id of its own for each item", line=row.line, field=source.item_id)
        stratum = source.id
        if source.stratum:
            names = {place: cells.get(place, "") for place in places_in(source.stratum)}
            stratum = filled(source.stratum, names)
        items.append(SeedItem(f"{source.id}-{own}", text, source.id, stratum, dict(row.cells)))
    if report.faults:
        raise report.error()
    return items


def kept_items(
    source: ItemSource, items: Sequence[SeedItem]
) -> tuple[list[SeedItem], list[FunnelStep], list[DroppedPrompt]]:
    """The items that all rules of a source keep, and what each rule drops."""
    steps, dropped = [], []
    for rule in source.keep:
        what = _told(rule)
        kept, out = [], []
        seen: dict[tuple[str, ...], str] = {}
        for item in items:
            why = _why_not(rule, item, seen)
            if why is None:
                kept.append(item)
            else:
                reason = f"{rule.reason}: {why}" if rule.reason else why
                kind = rule.reason or _kind(rule)
                out.append(DroppedPrompt(f"{source.id}: {what}", "item", kind, reason, item))
        steps.append(funnel_step(f"{source.id}: {what}", "item", len(items), out))
        dropped += out
        items = kept
    return list(items), steps, dropped


def _named(source: ItemSource) -> Iterator[tuple[str, str]]:
    """The fields that a source names, each with the key that does."""
    if source.item_id:
        yield "item_id", source.item_id
    for key in ("text", "stratum"):
        for name in places_in(getattr(source, key) or ""):
            yield key, name
    for rule in source.keep:
        yield from (("keep", name) for name in (rule.field, *rule.unique) if name is not None)


def _told(rule: KeepRule) -> str:
    if rule.unique:
        return f"first of each {', '.join(rule.unique)}"
    if rule.values:
        return f"{rule.field} is {' or '.join(rule.values)}"
    return f"{rule.field} {'contains a word' if rule.contains else 'has no excluded pattern'}"


def _kind(rule: KeepRule) -> str:
    """Why items are dropped by a rule that gives no reason."""
    if rule.unique:
        return "the same as an earlier item"
    if rule.values:
        return "another value"
    return "none of the words" if rule.contains else "an excluded pattern"


def _why_not(rule: KeepRule, item: SeedItem, seen: dict[tuple[str, ...], str]) -> str | None:
    """Why a rule drops an item, None where it keeps it; `seen` has the items by unique fields."""
    if rule.unique:
        key = tuple(_text(item.values.get(field)) for field in rule.unique)
        first = seen.setdefault(key, item.id)
        return None if first == item.id else f"the same {', '.join(rule.unique)} as {first}"
    value = _text(item.values.get(str(rule.field)))
    plain = value.casefold()
    if rule.values:
        wanted = {one.casefold() for one in rule.values}
        return None if plain in wanted else f"{rule.field} is {value!r:.60}"
    if rule.contains:
        there = any(one.casefold() in plain for one in rule.contains)
        return None if there else f"{rule.field} contains none of the words"
    for pattern in rule.lacks:
        if found := re.search(pattern, value, re.IGNORECASE):
            return f"{rule.field} has {found.group()!r:.60}"
    return None


def _text(value: Any) -> str:
    return "" if value is None else str(value)
