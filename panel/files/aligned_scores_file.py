"""A panel's aligned scores as a file of ratings."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from pathlib import Path
from typing import Any

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.outputs import cell_of, csv_of, require_ending, write_new
from persona_panel.statistics.alignment import Alignment

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

    Columns: `ALIGNED_COLUMNS`. Where ratings name no prompts or sources, these cells are empty. Raises
    InputError: there is another file, or it cannot be written."""
    rows = list(_rows(alignment))
    if rows:
        write_new(path, csv_of([ALIGNED_COLUMNS, *rows]), "another name, or no such file")
    return len(rows)


def _rows(alignment: Alignment) -> Iterator[list[Any]]:
    panel = alignment.panel
    for each in alignment.dimensions:
        for method in each.learnt.methods:
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
