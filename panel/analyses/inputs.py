"""The inputs of analyses: runs and ratings, as files or as objects, read alike by all of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from persona_panel.files.aligned_ratings import align_ratings, load_human_ratings
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.named_files import local_run
from persona_panel.files.ratings import GivenScale, load_ratings
from persona_panel.files.records import ColumnMapping, Source, name_of
from persona_panel.results.conclusions.wording import origin_sentences
from persona_panel.runs.load import load_run
from persona_panel.runs.run import Run
from persona_panel.statistics.core.table import Ratings

RunSource = str | Path | Run
"""A run's folder, on this machine or at an address (`s3://bucket/run`), or a run that has one."""
RatingsSource = Source | Run | Ratings
"""A run's folder, a file of ratings, a run that has a folder, or ratings that were read."""


def input_name(source: RunSource | RatingsSource, otherwise: str) -> str:
    """Return what faults call an input; of ratings that were read, the other name."""
    if isinstance(source, Ratings):
        return otherwise if source.origin is None else source.origin.file
    return str(folder_of(source)) if isinstance(source, Run) else name_of(source)


def folder_of(run: Run) -> Path:
    """Return the folder of a run.

    Raises:
        InputError: it has none.
    """
    if run.folder is None:
        raise InputError([Fault("the run", "no folder", "a run with `out`, which keeps judgments")])
    return run.folder


def opened_run(source: RunSource) -> Run:
    """Return a run.

    Raises:
        InputError: there is no run in that folder.
    """
    if isinstance(source, Run):
        return source
    folder = local_run(source)
    if not Path(folder).is_dir():
        expected = "what `score --out` has written"
        raise InputError([Fault(str(source), "no folder of a run", expected)])
    return load_run(folder)


def run_of(source: RatingsSource) -> Run | None:
    """Return the run that ratings are of; None where they are of a file."""
    if isinstance(source, Run):
        return source
    if not isinstance(source, str | Path):
        return None
    folder = local_run(source)
    return load_run(folder) if (Path(folder) / "run.json").is_file() else None


def opened_ratings(
    source: RatingsSource,
    mapping: ColumnMapping | None = None,
    *,
    scale: GivenScale | None = None,
    scale_option: str = "scale",
    min_raters: int = 1,
) -> Ratings:
    """Return ratings; those that were read stay as they are. Arguments are those of
    `load_ratings`.

    Raises:
        InputError: as `load_ratings`.
    """
    if isinstance(source, Ratings):
        return source
    return load_ratings(
        folder_of(source) if isinstance(source, Run) else source,
        mapping=mapping,
        scale=scale,
        scale_option=scale_option,
        min_raters=min_raters,
    )


class HumanInput(NamedTuple):
    """People's ratings, and how a file of theirs is to be read, as analyses take them."""

    human: RatingsSource
    human_mapping: ColumnMapping | None = None
    human_scale: GivenScale | None = None
    allow_unmatched: bool = False

    def read(self) -> Ratings:
        """Return the ratings; those that were read stay as they are. Raises InputError: as
        `load_ratings`."""
        if isinstance(self.human, Ratings):
            return self.human
        return load_human_ratings(
            folder_of(self.human) if isinstance(self.human, Run) else self.human,
            self.human_mapping,
            human_scale=self.human_scale,
            allow_unmatched=self.allow_unmatched,
        )

    @property
    def name(self) -> str:
        """The name of the ratings in faults."""
        return input_name(self.human, "the human ratings")


def opened_sides(
    panel: RatingsSource, people: HumanInput, mapping: ColumnMapping | None = None
) -> tuple[Ratings, Ratings]:
    """Return a panel's ratings and people's under the same names, as `load_aligned_ratings`.

    Raises:
        InputError: as `load_aligned_ratings`; lists the faults of both sides.
    """
    faults: list[Fault] = []
    sides: list[Ratings] = []
    for read in (partial(opened_ratings, panel, mapping), people.read):
        try:
            sides.append(read())
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    ours, theirs = sides
    return align_ratings(ours, theirs, input_name(panel, "the panel's ratings"), people.name)


def reading_of(*ratings: Ratings | None) -> Iterator[str]:
    """Yield how files of ratings were read, what of them matches nothing and what may be wrong."""
    for rating in ratings:
        if rating is not None and rating.origin is not None:
            yield from origin_sentences(rating.origin)
