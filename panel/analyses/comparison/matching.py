"""Of two runs, what is compared with what: the same panel's ratings of other texts, or another
panel's ratings of the same texts; and what does not match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from persona_panel.analyses.comparison.opened_run import (
    PAIR,
    OpenedRun,
    compares,
    panel_differences,
    version_differences,
)
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.judgments import is_being_written
from persona_panel.files.wording import printable, some
from persona_panel.results.conclusions.wording import counted

WhatDiffers = Literal["texts", "panels"]
"""The side on which two runs differ: the texts, or the panel."""

_some = partial(some, as_=printable)
_Key = tuple[str, str]


class TextPair(NamedTuple):
    """A pair of responses that are compared: to a prompt, by a system (of two names, both), their
    rows in each run."""

    prompt_id: str
    system: str
    a_rows: tuple[int, ...]
    b_rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Matched:
    """The pairs, judges and columns that two runs are compared by.

    Attributes:
        compared: what differs.
        pairs: what is compared with what, in the order of the first run.
        columns: of the judges in each run; of other texts the same judges, in the same order.
        panel: in what the panels differ; of other texts they make the difference ambiguous.
        notes: what does not match besides, and was left out.
    """

    compared: WhatDiffers
    pairs: tuple[TextPair, ...]
    columns: tuple[tuple[int, ...], tuple[int, ...]]
    panel: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def rows(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """Return the rows of each pair in each run."""
        return [pair.a_rows for pair in self.pairs], [pair.b_rows for pair in self.pairs]


def match_runs(a: OpenedRun, b: OpenedRun) -> Matched:
    """Match the responses and judges that two runs are compared by.

    Responses are the same where prompt, id and texts are. Where one run has nothing but what the
    other has, or the panels differ and they have something in common, panels are compared; else
    texts.

    Raises:
        InputError: they cannot be compared; says what would do.
    """
    shared, notes = _shared_prompts(a, b)
    same = [
        key
        for key in a.texts
        if key[0] in shared and key in b.texts and a.texts[key].text == b.texts[key].text
    ]
    panel = panel_differences(a.document, b.document, (a.name, b.name))
    versions = version_differences(a, b)
    keys = [[key for key in item.texts if key[0] in shared] for item in (a, b)]
    if same and (panel or len(same) in map(len, keys)):
        notes += [f"Another {version}." for version in versions]
        return _same_texts(a, b, same, keys, [*panel], notes)
    # Seeds are chance, which intervals are about.
    versions = [version for version in versions if not version.startswith("seed")]
    return _other_texts(a, b, set(same), keys, [*panel, *versions], notes)


# Prompts


def _shared_prompts(a: OpenedRun, b: OpenedRun) -> tuple[set[str], list[str]]:
    """Return the prompts that both runs have with the same text, and what is said of others."""
    first, second = ({key[0]: text.prompt for key, text in item.texts.items()} for item in (a, b))
    both = [name for name in first if name in second]
    changed = [name for name in both if first[name] != second[name]]
    shared = set(both) - set(changed)
    if not shared:
        what = (
            f"prompts of the same ids ({a.named(changed)}) with other texts"
            if changed
            else (f"only prompts that {a.name} does not have: {b.named(second)}")
        )
        expected = (
            f"prompts of {a.name} ({a.named(first)}): the two are compared prompt by prompt; score "
            "answers to the same prompts"
        )
        raise InputError([Fault(b.name, what, expected, field="prompt_id")])
    notes = []
    for run, entry, other in ((a, first, second), (b, second, first)):
        if only := [prompt for prompt in entry if prompt not in other]:
            sentence = f"{counted(len(only), 'prompt')} with ratings only in {run.name}"
            notes.append(f"{sentence}: {run.named(only)}.")
    if changed:
        notes.append(
            f"{counted(len(changed), 'prompt')} of the same id with another text, left out: "
            f"{a.named(changed)}."
        )
    for run in (a, b):
        if not run.finished:
            judged, every = len(run.texts), len(run.run.items)
            there = f"{judged:,} of {every:,} responses are judged"
            notes.append(
                f"{run.name} goes on: {there} so far."
                if run.run.folder is not None and is_being_written(run.run.folder)
                else f"{run.name} is unfinished: {there}; the command that began it continues it."
            )
    return shared, notes


# The same texts, another panel


def _same_texts(
    a: OpenedRun,
    b: OpenedRun,
    same: Sequence[_Key],
    keys: Sequence[Sequence[_Key]],
    panel: Sequence[str],
    notes: list[str],
) -> Matched:
    for item, own in ((a, keys[0]), (b, keys[1])):
        if others := len(own) - len(same):
            notes.append(
                f"Left out: {counted(others, 'response')} of {item.name}, of whose text the other "
                "run has no rating."
            )
    pairs = [TextPair(key[0], a.system(key), (a.rows[key],), (b.rows[key],)) for key in same]
    return Matched("panels", tuple(pairs), (tuple(a.columns), tuple(b.columns)), tuple(panel),
                   tuple(notes))  # fmt: skip


# Other texts, the same panel


def _other_texts(
    a: OpenedRun,
    b: OpenedRun,
    same: set[_Key],
    keys: Sequence[Sequence[_Key]],
    panel: Sequence[str],
    notes: list[str],
) -> Matched:
    _refuse_relative(a, b)
    systems = _paired_systems(a, b, same, keys, notes)
    columns = _common_judges(a, b, notes)
    by_pair = _uses_pairs(a, b, keys, systems, notes)
    sides: list[dict[tuple[str, str, str | None], list[int]]] = [{}, {}]
    for side, item, own in zip(sides, (a, b), keys, strict=True):
        labels = {pair[side is sides[1]]: " → ".join(dict.fromkeys(pair)) for pair in systems}
        for key in own:
            if (label := labels.get(item.system(key))) is not None:
                unit = (key[0], label, item.texts[key].pair if by_pair else None)
                side.setdefault(unit, []).append(item.rows[key])
    both = [unit for unit in sides[0] if unit in sides[1]]
    if lonely := sum(len(side) - len(both) for side in sides):
        what = counted(lonely, PAIR) if by_pair else f"{counted(lonely, 'prompt')} of a system"
        notes.append(f"Left out, as rated in one of the runs only: {what}.")
    if not both:
        raise InputError(
            [
                Fault(
                    b.name,
                    f"no {PAIR} that {a.name} has, too" if by_pair else "no response to pair",
                    f"responses to the prompts of {a.name} by "
                    f"{_some([name for name, _ in systems])}",
                    field=PAIR if by_pair else "system",
                )
            ]
        )
    return Matched(
        "texts",
        tuple(
            TextPair(unit[0], unit[1], tuple(sides[0][unit]), tuple(sides[1][unit]))
            for unit in both
        ),
        columns,
        tuple(panel),
        tuple(notes),
    )


def _refuse_relative(a: OpenedRun, b: OpenedRun) -> None:
    if relative := [item for item in (a, b) if compares(item)]:
        raise InputError(
            [
                Fault(
                    item.name,
                    "ratings by comparison with the other responses of the same run",
                    "ratings of each response by itself; or score both systems in one run, which "
                    "compares them with each other",
                    field="elicitation",
                )
                for item in relative
            ]
        )


def _paired_systems(
    a: OpenedRun,
    b: OpenedRun,
    same: set[_Key],
    keys: Sequence[Sequence[_Key]],
    notes: list[str],
) -> list[tuple[str, str]]:
    """Return which system of the first run is compared with which of the second."""
    first, second = (
        Counter(item.system(key) for key in own) for item, own in zip((a, b), keys, strict=True)
    )
    both = [name for name in first if name in second]
    unchanged = Counter(a.system(key) for key in same if a.system(key) == b.system(key))
    kept = [name for name in both if not unchanged[name] == first[name] == second[name]]
    pairs = [(name, name) for name in kept]
    alone = [[name for name in item if name not in both] for item in (first, second)]
    if not pairs and len(alone[0]) == len(alone[1]) == 1:
        pairs = [(alone[0][0], alone[1][0])]
        alone = [[], []]
    if not pairs:
        raise InputError([_no_systems(a, b, both, alone)])
    if len(kept) < len(both):
        left = [name for name in both if name not in kept]
        notes.append(
            f"{counted(len(left), 'system')} with the same texts in both runs left out: "
            f"{_some(left)}."
        )
    for names, entry in zip(alone, (a, b), strict=True):
        if names:
            notes.append(f"{counted(len(names), 'system')} only in {entry.name}: {_some(names)}.")
    return pairs


def _no_systems(
    a: OpenedRun, b: OpenedRun, both: Sequence[str], alone: Sequence[Sequence[str]]
) -> Fault:
    actual = f"no system of {a.name} with other texts: {_some(alone[1])}"
    expected = (
        f"systems of the names that {a.name} has ({_some([*alone[0], *both])}), or one system in "
        "each run. To compare systems of other names, rename them, or score them in one run"
    )
    return Fault(b.name, actual, expected, field="system")


def _common_judges(
    a: OpenedRun, b: OpenedRun, notes: list[str]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the columns of the judges that both have, in the order of the first run."""
    theirs = {judge: column for column, judge in zip(b.columns, b.judges, strict=True)}
    pairs = [
        (column, theirs[judge])
        for column, judge in zip(a.columns, a.judges, strict=True)
        if judge in theirs
    ]
    if not pairs:
        raise InputError(
            [
                Fault(
                    b.name,
                    f"other texts and only judges that {a.name} does not have "
                    f"({_some([judge.id for judge in b.judges])})",
                    f"judges of {a.name} ({_some([judge.id for judge in a.judges])}), as the "
                    "difference could come from either; score the texts of both runs with one "
                    "panel",
                    field="judge",
                )
            ]
        )
    for item in (a, b):
        if more := len(item.columns) - len(pairs):
            notes.append(
                f"{counted(more, 'judge')} only in {item.name}, left out: ratings are compared "
                f"judge by judge, by {counted(len(pairs), 'judge')} in both."
            )
    return tuple(pair for pair, _ in pairs), tuple(pair for _, pair in pairs)


def _uses_pairs(
    a: OpenedRun,
    b: OpenedRun,
    keys: Sequence[Sequence[_Key]],
    systems: Sequence[tuple[str, str]],
    notes: list[str],
) -> bool:
    """Return whether responses are paired by their column `pair`: all that are compared have it."""
    known = [
        [
            item.texts[key].pair is not None
            for key in own
            if item.system(key) in {pair[side] for pair in systems}
        ]
        for side, (item, own) in enumerate(zip((a, b), keys, strict=True))
    ]
    if all(all(side) for side in known):
        return True
    if any(any(side) for side in known):
        notes.append(
            f"Some responses have no {PAIR}, so that all are paired by prompt and system alone."
        )
    return False
