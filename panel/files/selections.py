"""Tables that we write for people: the items to rate, with the probabilities with which they were
drawn, and a panel's aligned scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.outputs import cell_of, csv_for_user, require_ending, text_of, write_new
from persona_panel.files.records import ColumnMapping, Fields, Report, label_of, read_records
from persona_panel.files.tabulation import score_of, with_point
from persona_panel.files.wording import shown
from persona_panel.statistics.core.table import Ratings

if TYPE_CHECKING:
    from persona_panel.statistics.alignment import Alignment
    from persona_panel.statistics.selection import SelectedItem

PROBABILITY = "inclusion_probability"
COLUMNS = ("item", "prompt", "source", PROBABILITY, "spread")


def selection_csv(items: Iterable[SelectedItem]) -> str:
    """Return the items as a table with the columns `COLUMNS`."""
    rows: list[list[Any]] = [list(COLUMNS)]
    for item in items:
        names = [cell_of(name or "") for name in (item.item, item.prompt, item.system)]
        spread = "" if isnan(item.spread) else Decimal(f"{item.spread:.4f}")
        rows.append([*names, item.inclusion_probability, spread])
    return csv_for_user(rows).decode()


def write_selection(items: Iterable[SelectedItem], path: Path) -> None:
    """Write the items to a new file; a file that has the same content already stays as it is.
    Raises InputError: there is another file, or it cannot be written."""
    expected = "another name: people may be rating what is in it"
    write_new(path, selection_csv(items).encode(), expected)


def read_inclusion(
    source: str, *, needed: bool, mapping: ColumnMapping | None = None
) -> dict[str, float] | None:
    """Read the probability with which people were asked for each item; None where the file has no
    such column, and it is not needed. `source`: what `select` wrote, or people's ratings with a
    column `inclusion_probability`; `mapping`: of a file of ratings; its columns of other fields do
    not matter here. Raises InputError: anything is wrong with it; lists every fault, with its
    line."""
    fields = Fields(
        (("item", ("item",)), (PROBABILITY, (PROBABILITY,))),
        frozenset() if needed else frozenset({PROBABILITY}),
        is_users=not needed,
    )
    known = {name: column for name, column in (mapping or {}).items() if name == "item"}
    fields = fields.mapped(known, source)
    report = Report(source, known)
    probabilities: dict[str, float] = {}
    for record in read_records(source, fields, report):
        column, item = record.names.get(PROBABILITY), record.names.get("item")
        if column is None or item is None:
            continue
        name = label_of(record.cells[item])
        value = score_of(with_point(record.cells[column]), PROBABILITY, record.line, report)
        expected = "a probability above 0 and at most 1"
        if not isinstance(name, str) or not 0 < value <= 1:
            report.add(shown(record.cells[column]), expected, line=record.line, field=PROBABILITY)
            continue
        first = probabilities.setdefault(text_of(name), value)
        if first != value:
            expected = f"{first:g}, as on another line of the item"
            report.add(f"{value:g}", expected, line=record.line, field=PROBABILITY)
    if report.faults:
        raise report.error()
    return probabilities or None


def known_inclusion(
    humans: Ratings, selected: str | None, mapping: ColumnMapping | None
) -> dict[str, float] | None:
    """Read inclusion probabilities from the file that `select` wrote, or where there is none from
    the file of people's ratings, whose columns `mapping` names; None for ratings of no file. Raises
    InputError: as `read_inclusion`, or the ratings came from a stream that has probabilities, which
    cannot be read a second time."""
    if selected is not None:
        return read_inclusion(selected, needed=True)
    origin = humans.origin
    if origin is None:
        return None
    if origin.from_stream:
        if origin.has_inclusion:
            expected = "a file, as a stream is read once; or what `select` wrote, as `selected`"
            raise InputError([Fault(origin.file, "a stream", expected, field=PROBABILITY)])
        return None
    return read_inclusion(origin.file, needed=False, mapping=mapping)


def inclusion_of(
    known: Mapping[str, float], panel: Ratings, humans: Ratings, source: str
) -> dict[str, float]:
    """Return the probabilities by the items' names in the panel's ratings. Raises InputError: an
    item that people rated has none; names the first."""
    prompts = panel.prompts or ("",) * len(panel.items)
    probabilities: dict[str, float] = {}
    for item, prompt in zip(panel.items, prompts, strict=True):
        for name in (item, f"{prompt}/{item}", item.removeprefix(f"{prompt}/")):
            if name in known:
                probabilities[item] = known[name]
                break
    ours = set(panel.items)
    without = [name for name in humans.items if name in ours and name not in probabilities]
    if without:
        problem = f"no {PROBABILITY} of {shown(without[0])}, which people rated"
        more = f" ({len(without):,} such items)" if len(without) > 1 else ""
        expected = "one of every item that people rated"
        raise InputError([Fault(source, f"{problem}{more}", expected, field=PROBABILITY)])
    return probabilities


ALIGNED_COLUMNS = ("item", "rater", "dimension", "score", "prompt", "source", "learnt_from")
HELD_OUT, EVERYTHING = "other prompts", "all rated prompts"
"""The items that a score was learnt from: of an item that people rated, and of any other."""


def require_csv(path: Path, n_methods: int) -> None:
    """Refuse a file whose name does not end in .csv (ConfigurationError), and scores of more than
    one method (InputError)."""
    if n_methods > 1:
        expected = "one, for instance --method isotonic"
        raise InputError([Fault(str(path), f"scores of {n_methods} methods", expected)])
    require_ending(path, ".csv")


def write_aligned_scores(alignment: Alignment, path: Path) -> int:
    """Write the scores of the alignment's only method to a new file, which other commands read as
    ratings by one rater, `panel`; a file that has the same content already stays as it is. Returns
    how many scores there are; where nothing was learnt on any dimension there are none, and no
    file.

    Columns: `ALIGNED_COLUMNS`. Where ratings name no prompts or sources, these cells are empty.
    Raises InputError: there is another file, or it cannot be written."""
    rows = list(_rows(alignment))
    if rows:
        write_new(path, csv_for_user([ALIGNED_COLUMNS, *rows]), "another name, or no such file")
    return len(rows)


def _rows(alignment: Alignment) -> Iterator[list[Any]]:
    panel = alignment.panel
    for each in alignment.dimensions:
        for method in each.methods:
            if method.scores is None or method.held_out is None:
                continue
            for place, (score, held_out) in enumerate(
                zip(method.scores.tolist(), method.held_out.tolist(), strict=True)
            ):
                if isnan(score):
                    continue
                names = [panel.items[place], "panel", each.dimension]
                labels = (panel.prompts, panel.sources)
                of_item = ["" if of is None else of[place] for of in labels]
                yield [
                    *map(cell_of, names),
                    score,
                    *map(cell_of, of_item),
                    HELD_OUT if held_out else EVERYTHING,
                ]
