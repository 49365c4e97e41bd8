"""The systems of a run within strata: of judges (persona, axis, model), of texts (prompt, a column
of their metadata), or of the rubric (dimension)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import inf, nan
from typing import TYPE_CHECKING

import numpy as np

from persona_panel.analyses.judge_groups import (
    RunCells,
    axes_of,
    axis_differences,
    model_differences,
)
from persona_panel.analyses.rating_strata import column_in, mapping_of, warn_of_mapped
from persona_panel.files.errors import RunFolderError
from persona_panel.graphs import Response
from persona_panel.graphs.records import controls_among
from persona_panel.results.conclusions.score import on_coverage
from persona_panel.results.conclusions.wording import counted, first_of, grouped, in_brackets
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, row_of
from persona_panel.runs.collected import judge_sample
from persona_panel.runs.kept import kept_metadata
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import composite_limits, composite_terms, mean_limits
from persona_panel.statistics.core.arrays import (
    Array,
    Mask,
    Random,
    encode_labels,
    mean_there,
    means_by,
)
from persona_panel.statistics.core.estimate import Difference
from persona_panel.statistics.core.ranking import Leaderboard, SystemRank, rank_systems
from persona_panel.statistics.core.sampled_mean import JudgeSample, Limits
from persona_panel.statistics.core.significance import holm_adjusted
from persona_panel.statistics.personas import (
    ALL_SYSTEMS,
    Departure,
    GroupDifference,
    departures_by_system,
)
from persona_panel.statistics.strata import StratumFigure, stratum_differences

if TYPE_CHECKING:
    from persona_panel.statistics.sources import AuthorShare

BY_JUDGES = ("persona", "axis", "model")
BY = (*BY_JUDGES, "prompt", "dimension")
"""The columns by which a run can be broken down besides those of its responses."""
Boards = Iterator[tuple[str, Leaderboard]]
Interaction = Departure | GroupDifference


@dataclass(frozen=True, slots=True)
class SystemsBy:
    """The systems of a run within each stratum, called `by`.

    Attributes:
        systems: every stratum with each system in it, strata in order of appearance, the best
            first.
        differences: every stratum with the difference of each two systems in it, as on a
            leaderboard, but that p is adjusted by Holm over all pairs of all strata.
        interactions: whether systems stand otherwise in one stratum than in another: of personas
            their departures by system, of axes and models the differences by system, of dimensions
            and columns how far a system is above the others in the prompt, in the stratum `a` less
            the mean of the other strata; none of prompts.
        between: of a column, whether texts with the value `a` are rated higher than the mean of the
            others, corrected by Holm over all strata; of two values the first's alone.
        authors: of a column with several values in a prompt, as of human and model authors, how
            often texts with one value are ahead of those with another.
        n_without: how many responses have no value in the column, and are left out.
    """

    by: str
    systems: tuple[tuple[str, SystemRank], ...]
    differences: tuple[tuple[str, Difference], ...]
    interactions: tuple[Interaction, ...]
    between: tuple[GroupDifference, ...]
    authors: tuple[AuthorShare, ...]
    n_without: int


def systems_by(run: Run, by: str, column: Sequence[str | None] | None = None) -> SystemsBy:
    """Compare the systems of a run within strata.

    Within a persona, an axis or a model, composites are those of its judges alone; within a prompt
    or a value of a column, those of all judges on its responses; within a dimension, its means in
    place of composites. What intervals and p-values take as a sample is `run.random`.

    Args:
        by: one of `BY`, or the name of a column of the responses' metadata.
        column: its value of each response; None: read from the run's folder. See `column_of`.

    Raises:
        InputError: the responses have no such column.
        RunFolderError: a column of a run that was not written.
    """
    n_without = 0
    interactions: Sequence[Interaction] = ()
    between: list[GroupDifference] = []
    authors: list[AuthorShare] = []
    prompts = [item.prompt_id for item in run.items]
    if by in BY_JUDGES:
        if run.folder is not None:
            warn_of_mapped(by, mapping_of(run.folder), str(run.folder))
        boards = [*_by_judges(run, by)]
        interactions = _judges_interactions(run, by)
    elif by == "dimension":
        boards = [*_by_dimension(run)]
        interactions = _by_system(run, _dimension_scores(run))
    elif by == "prompt":
        boards = [*_by_label(run, prompts)]
    else:
        labels = _kept_column(run, by) if column is None else column
        n_without = sum(label is None for label in labels)
        boards = [*_by_label(run, labels)]
        scores = _composites(run, run.ratings[:, run.ranking_columns()[0]])
        strata = {
            name: np.where([label == name for label in labels], scores, nan)
            for name in dict.fromkeys(labels)
            if name is not None
        }
        between = _contrasts(run, [(ALL_SYSTEMS, strata)])
        interactions = _by_system(run, strata)
        from persona_panel.statistics.sources import author_shares

        authors = author_shares(scores, labels, prompts)
    pairs = [(stratum, pair) for stratum, board in boards for pair in board.differences]
    adjusted = holm_adjusted([pair for _, pair in pairs])
    return SystemsBy(
        by,
        tuple((stratum, system) for stratum, board in boards for system in board.systems),
        tuple((stratum, pair) for (stratum, _), pair in zip(pairs, adjusted, strict=True)),
        tuple(interactions),
        tuple(between),
        tuple(authors),
        n_without,
    )


def column_of(
    responses: Iterable[Response],
    name: str,
    source: str,
    mapping: Mapping[str, str] | None = None,
) -> list[str | None]:
    """Return the value of a column of the metadata of each response, as text, None where it has
    none.

    Args:
        source: where they are from, for errors.
        mapping: by field, which column of the source was mapped to it.

    Raises:
        InputError: no response has the column; names those there are.
    """
    metadata = (response.metadata for response in responses)
    return [*column_in(enumerate(metadata), name, source, BY, mapping).values()]


def _kept_column(run: Run, name: str) -> list[str | None]:
    if run.folder is None:
        raise RunFolderError(
            "the columns of responses are read from the run's folder, and this run was not written "
            "to one; give out=FOLDER when scoring, or the column's values"
        )
    kept = enumerate(kept_metadata(run.folder, run.items))
    return [*column_in(kept, name, str(run.folder), BY, mapping_of(run.folder)).values()]


def _by_judges(run: Run, by: str) -> Boards:
    controls, axes = controls_among(run.judges), axes_of(run)

    def stratum_of(place: int) -> str | None:
        judge = run.judges[place]
        value = axes.get(judge.persona, "") if by == "axis" else getattr(judge, by)
        return None if judge in controls else value or None

    for stratum, judges in grouped(range(len(run.judges)), stratum_of).items():
        yield stratum, _board(run, range(len(run.items)), judges)


def _by_label(run: Run, labels: Sequence[str | None]) -> Boards:
    for stratum, rows in grouped(range(len(labels)), labels.__getitem__).items():
        yield stratum, _board(run, rows, run.ranking_columns()[0])


def _by_dimension(run: Run) -> Boards:
    judges = run.ranking_columns()[0]
    names = [dimension.id for dimension in run.rubric.numeric]
    for name, limits in zip(names, mean_limits(run.rubric, names), strict=True):
        terms = run.ratings[:, judges][:, :, [run.dimensions.index(name)]]
        scores, sample = mean_there(terms[:, :, 0], 1), JudgeSample(terms, {})
        yield name, _ranked(run, range(len(run.items)), scores, sample, limits, "prompts")


def _board(run: Run, rows: Sequence[int], judges: Sequence[int]) -> Leaderboard:
    """Rank the systems on these responses by these judges, on the rubric's composite."""
    ratings = run.ratings[np.ix_(rows, judges)]
    of_judges = [run.judges[place] for place in judges]
    sample = judge_sample(ratings, of_judges, run.rubric, run.dimensions, run.categories)
    limits, random = composite_limits(run.rubric), "prompts" if sample is None else run.random
    return _ranked(run, rows, _composites(run, ratings), sample, limits, random)


def _ranked(
    run: Run,
    rows: Sequence[int],
    scores: Array,
    sample: JudgeSample | None,
    limits: Limits,
    random: Random,
) -> Leaderboard:
    items, none = [run.items[row] for row in rows], np.empty((len(rows), 0))
    systems, prompts = [item.system for item in items], [item.prompt_id for item in items]
    return rank_systems(
        systems, prompts, scores, none, [], judges=sample, random=random, limits=limits
    )


def _composites(run: Run, ratings: Array) -> Array:
    """Return the composite of each response by these judges; of a rubric without one NaN."""
    terms = composite_terms(ratings, run.rubric, run.dimensions, run.categories)
    return np.full(len(ratings), nan) if terms is None else mean_there(terms, 1).mean(axis=1)


def _dimension_scores(run: Run) -> dict[str, Array]:
    """Return the panel's means by dimension; none where dimensions are on different scales."""
    if not RunCells.of(run).one_scale:
        return {}
    judges = run.ranking_columns()[0]
    return {
        item.id: mean_there(run.ratings[:, judges, run.dimensions.index(item.id)], 1)
        for item in run.rubric.numeric
    }


def _by_system(run: Run, strata: Mapping[str, Array]) -> list[GroupDifference]:
    """Test each system's lead within prompts by stratum, from scores `(responses,)` of each."""
    names = list(dict.fromkeys(item.system for item in run.items))
    if len(names) < 2:
        return []
    codes = encode_labels([item.prompt_id for item in run.items], len(run.items))[1]
    n = int(codes.max(initial=-1)) + 1

    def ahead(scores: Array, mine: Mask) -> Array:
        """Return how far a system's responses are above the mean of the others' to the prompt."""
        others = means_by(np.where(mine, nan, scores), codes, n)
        return np.where(mine, scores - others[codes], nan)

    own = {name: np.array([item.system == name for item in run.items]) for name in names}
    return _contrasts(
        run,
        [
            (name, {each: ahead(scores, mine) for each, scores in strata.items()})
            for name, mine in own.items()
        ],
    )


def _contrasts(
    run: Run, scores: Sequence[tuple[str, Mapping[str, Array]]]
) -> list[GroupDifference]:
    """Contrast the strata of each of several scores; p-values are adjusted over all of them."""
    names, codes = encode_labels([item.prompt_id for item in run.items], len(run.items))
    contrasts = []
    for system, strata in scores:
        figures = [
            (name, StratumFigure.mean(means_by(values, codes, len(names)), names))
            for name, values in strata.items()
            if not np.isnan(values).all()
        ]
        for each in stratum_differences(figures):
            known = {part.name: getattr(each, part.name) for part in fields(each)}
            contrasts.append(GroupDifference(**known, system=system))
    return holm_adjusted(contrasts)


def _judges_interactions(run: Run, by: str) -> Sequence[Interaction]:
    if by == "persona":
        cells = RunCells.of(run)
        whole = cells.composite or cells.dimensions
        return departures_by_system(whole, cells.systems, cells.prompts)
    return (axis_differences if by == "axis" else model_differences)(run).interactions


_NAMED = 5
"""The largest number of significant differences that are named."""
_FIGURES = {"each": "each text", "best": "best text", "first place": "best text"}
_LINES = 40
"""The largest number of systems within strata that people are shown."""


def systems_by_result(by_stratum: SystemsBy, run: Run, *, lines: int = _LINES) -> Result:
    """Return the result of what `systems_by` gives of a run.

    Args:
        lines: how many systems within strata people are shown, at most.
    """
    by = by_stratum.by
    stratum, system = Key("stratum", by), Key("system", "system")
    limits = (-inf, inf) if by == "dimension" else composite_limits(run.rubric)
    strata = {name for name, _ in by_stratum.systems[:lines]}
    more = sum(name not in strata for name, _ in by_stratum.systems)
    prompts = Column("n_prompts", "whole", "prompts")
    difference = Column("difference", "estimate", "difference", signed=True, p="column")
    tables = (
        Table(
            "systems",
            (stratum, system),
            (Column("mean", "estimate", "mean"), prompts),
            [
                {"stratum": name, "system": each.system, "n_prompts": each.composite.n}
                | {"mean": replace(each.composite, limits=limits)}
                for name, each in by_stratum.systems
            ],
            f"Systems by {by}",
            short={"stratum": strata},
            remarks=list(
                on_coverage(
                    {f"{each.system} ({name})": each.composite for name, each in by_stratum.systems}
                )
            ),
        ),
        Table(
            "between",
            (stratum, Key("system")),
            (difference, prompts),
            [
                {"stratum": each.a, "system": each.system, "difference": each, "n_prompts": each.n}
                for each in by_stratum.between
            ],
            f"Composite by {by}: above the mean of the others",
        ),
        _authors(by_stratum),
        Table(
            "differences",
            (Key("a", "system"), Key("b"), stratum),
            (difference,),
            [
                {"a": each.a, "b": each.b, "stratum": name, "difference": each}
                for name, each in by_stratum.differences
            ],
            sides=("a", "b"),
        ),
        # Whether systems stand otherwise in one stratum than in another, for programs.
        Table(
            "interactions",
            (Key("stratum"), Key("b"), Key("dimension"), Key("system")),
            (Column("departure", "number"), Column("difference", "estimate")),
            [*map(_interaction, by_stratum.interactions)],
        ),
        Table(
            "counts",
            (Key("by"),),
            (Column("n_without", "whole"),),
            [{"by": by, "n_without": by_stratum.n_without}],
        ),
    )
    rest = [f"{more:,} more lines: --json."] if more else []
    return Result("strata", _conclusion(by_stratum), tables, rest)


def _conclusion(by_stratum: SystemsBy) -> list[str]:
    by = by_stratum.by
    if not by_stratum.systems:
        return [f"There is nothing to go by: no {by} is known."]
    tested = [each for _, each in by_stratum.differences if each.reason is None]
    named = [
        f"{of.a} − {of.b} in {stratum} {of.number(with_sign=True)}{in_brackets(of.p_text())}"
        for stratum, of in by_stratum.differences
        if of.reason is None and of.shown
    ]
    text = f"Differences between systems by {by}: {len(named):,} of {len(tested):,} significant "
    text += "(p adjusted by Holm's method over all of them)"
    text += f": {first_of(named, _NAMED)}." if named else "."
    sentences = [text]
    if interactions := [each for each in by_stratum.interactions if each.reason is None]:
        n = sum(each.shown for each in interactions)
        sentences.append(
            f"An interaction of system and {by} is shown by {n:,} of "
            f"{counted(len(interactions), 'test')}."
        )
    if by_stratum.n_without:
        sentences.append(f"{counted(by_stratum.n_without, 'response')} without a value left out.")
    return sentences


def _interaction(each: Interaction) -> dict[str, object]:
    if isinstance(each, Departure):
        row: dict[str, object] = {"stratum": each.persona, "system": each.on}
        return row | {"departure": each.departure, "difference": each}
    row = {"stratum": each.a, "b": each.b or None, "dimension": each.dimension or None}
    return row | {"system": each.system, "difference": each}


def _authors(by_stratum: SystemsBy) -> Table:
    columns = (
        Column("share", "estimate", "share", p="column"),
        Column("chance", "number", "by\nchance"),
        Column("n_prompts", "whole", "prompts"),
        Column("n_texts", "whole"),
    )
    sides = Key("a"), Key("b"), Key("figure", "text", labels=_FIGURES)
    return Table(
        "authors",
        (Key("pair", by_stratum.by), *sides),
        columns,
        [
            row_of(
                each, (*sides, *columns), pair=f"{each.a} above {each.b or 'all others'}",
                share=each, n_prompts=each.n,
            )
            for each in by_stratum.authors
        ],
        f"By {by_stratum.by}: ranking over the same prompts",
        remarks=[
            "Each text: share of pairs, one text of either. Best text: share of prompts whose best "
            "text it is. A prompt counts once, a tie in equal parts; p adjusted by Holm's method "
            "over all lines."
        ],
    )  # fmt: skip
