"""The systems of a run within strata: of judges (persona, axis, model), of texts (prompt, a column
of their metadata), or of the rubric (dimension)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, nan
from typing import Any

import numpy as np

from persona_panel.analyses.breakdown.groups import (
    RunCells,
    axes_of,
    axis_differences,
    model_differences,
)
from persona_panel.analyses.breakdown.rating_strata import column_in, mapping_of, warn_of_mapped
from persona_panel.files.errors import RunFolderError
from persona_panel.graphs import Response
from persona_panel.graphs.records import controls_among
from persona_panel.results.conclusions.wording import counted, first_of, in_brackets
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
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
from persona_panel.statistics.core.estimate import Difference, Estimate
from persona_panel.statistics.core.ranking import JudgeSample, Leaderboard, Limits, rank_systems
from persona_panel.statistics.core.significance import holm_adjusted
from persona_panel.statistics.group_differences import ALL_SYSTEMS, GroupDifference
from persona_panel.statistics.personas import Departure, departures_by_system
from persona_panel.statistics.sources import AuthorShare, author_shares
from persona_panel.statistics.strata import (
    StratumFigure,
    stratum_differences,
)

BY_JUDGES = ("persona", "axis", "model")
BY = (*BY_JUDGES, "prompt", "dimension")
"""What a run can be broken down by besides columns of its responses."""


@dataclass(frozen=True, slots=True)
class SystemInStratum:
    """A system's mean over the prompts of a stratum, with its 95 % interval over prompts."""

    stratum: str
    system: str
    mean: Estimate


@dataclass(frozen=True, slots=True)
class PairInStratum:
    """The difference of two systems in a stratum, as on a leaderboard, but that p is adjusted by
    Holm over all pairs of all strata."""

    stratum: str
    difference: Difference


@dataclass(frozen=True, slots=True)
class StratumContrast:
    """The difference of a stratum above the mean of the others: its texts' composite (`system` is
    `all`), or how far the system is above the others in the prompt. Of two strata there is the
    first's alone. Intervals and p-values are over prompts, judges fixed; see
    `persona_panel.statistics.strata`."""

    stratum: str
    system: str
    difference: Difference

    @property
    def shown(self) -> bool:
        """Return whether it may be claimed."""
        return self.difference.shown


@dataclass(frozen=True, slots=True)
class SystemsBy:
    """The systems of a run within each stratum, called `by`.

    Attributes:
        systems: every system in every stratum, strata in order of appearance, the best first.
        differences: every two systems in every stratum.
        interactions: whether systems stand otherwise in one stratum than in another: of personas
            their departures by system, of axes and models the differences by system, of dimensions
            and columns the contrasts of each system; none of prompts.
        between: of a column, whether texts with one value are rated higher than the others,
            corrected by Holm over all strata.
        authors: of a column with several values in a prompt, as of human and model authors, how
            often texts with one value are ahead of those with another.
        n_without: how many responses have no value in the column, and are left out.
    """

    by: str
    systems: tuple[SystemInStratum, ...]
    differences: tuple[PairInStratum, ...]
    interactions: tuple[Departure | GroupDifference | StratumContrast, ...]
    between: tuple[StratumContrast, ...]
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
    interactions: Sequence[Departure | GroupDifference | StratumContrast] = ()
    between: list[StratumContrast] = []
    authors: list[AuthorShare] = []
    if by in BY_JUDGES:
        if run.folder is not None:
            warn_of_mapped(by, mapping_of(run.folder), str(run.folder))
        boards = list(_by_judges(run, by))
        interactions = _judges_interactions(run, by)
    elif by == "dimension":
        boards = list(_by_dimension(run))
        interactions = _by_system(run, _dimension_scores(run))
    else:
        labels: Sequence[str | None]
        if by == "prompt":
            labels = [item.prompt_id for item in run.items]
        else:
            labels = _kept_column(run, by) if column is None else column
        n_without = sum(label is None for label in labels)
        boards = list(_by_label(run, labels))
        if by != "prompt":
            scores = _composites(run)
            strata = {
                name: np.where([label == name for label in labels], scores, nan)
                for name in dict.fromkeys(labels)
                if name is not None
            }
            between = _contrasts(run, [(ALL_SYSTEMS, strata)])
            interactions = _by_system(run, strata)
            authors = author_shares(scores, labels, [item.prompt_id for item in run.items])
    pairs = [(stratum, pair) for stratum, board in boards for pair in board.differences]
    differences = holm_adjusted([pair for _, pair in pairs])
    return SystemsBy(
        by,
        tuple(
            SystemInStratum(stratum, system.system, system.composite)
            for stratum, board in boards
            for system in board.systems
        ),
        tuple(
            PairInStratum(stratum, difference)
            for (stratum, _), difference in zip(pairs, differences, strict=True)
        ),
        tuple(interactions),
        tuple(between),
        tuple(authors),
        n_without,
    )  # fmt: skip


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
    return _column((response.metadata for response in responses), name, source, mapping)


def _kept_column(run: Run, name: str) -> list[str | None]:
    if run.folder is None:
        raise RunFolderError(
            "the columns of responses are read from the run's folder, and this run was not written "
            "to one; give out=FOLDER when scoring, or the column's values"
        )
    metadata = kept_metadata(run.folder, run.items)
    return _column(metadata, name, str(run.folder), mapping_of(run.folder))


def _column(
    metadata: Iterable[Mapping[str, Any]],
    name: str,
    source: str,
    mapping: Mapping[str, str] | None,
) -> list[str | None]:
    return [*column_in(enumerate(metadata), name, source, BY, mapping).values()]


def _by_judges(run: Run, by: str) -> Iterator[tuple[str, Leaderboard]]:
    controls = controls_among(run.judges)
    axes = axes_of(run)
    strata: dict[str, list[int]] = {}
    for place, judge in enumerate(run.judges):
        if judge in controls:
            continue
        value = axes.get(judge.persona, "") if by == "axis" else getattr(judge, by)
        if value:
            strata.setdefault(value, []).append(place)
    everything = range(len(run.items))
    for stratum, judges in strata.items():
        yield stratum, _board(run, everything, judges)


def _by_label(run: Run, labels: Sequence[str | None]) -> Iterator[tuple[str, Leaderboard]]:
    rows: dict[str, list[int]] = {}
    for row, label in enumerate(labels):
        if label is not None:
            rows.setdefault(label, []).append(row)
    judges = run.ranking_columns()[0]
    for stratum, those in rows.items():
        yield stratum, _board(run, those, judges)


def _by_dimension(run: Run) -> Iterator[tuple[str, Leaderboard]]:
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
    source = run.rubric, run.dimensions, run.categories
    terms = composite_terms(ratings, *source)
    scores = np.full(len(rows), nan) if terms is None else mean_there(terms, 1).mean(axis=1)
    sample = judge_sample(ratings, of_judges, *source)
    random = "prompts" if sample is None else run.random
    return _ranked(run, rows, scores, sample, composite_limits(run.rubric), random)


def _ranked(
    run: Run,
    rows: Sequence[int],
    scores: Array,
    sample: JudgeSample | None,
    limits: Limits,
    random: Random,
) -> Leaderboard:
    return rank_systems(
        [run.items[row].system for row in rows],
        [run.items[row].prompt_id for row in rows],
        scores,
        np.empty((len(rows), 0)),
        [],
        judges=sample,
        random=random,
        limits=limits,
    )


def _composites(run: Run) -> Array:
    """Return the panel's composite of each response; of a rubric without one NaN."""
    terms = composite_terms(
        run.ratings[:, run.ranking_columns()[0]], run.rubric, run.dimensions, run.categories
    )
    return np.full(len(run.items), nan) if terms is None else mean_there(terms, 1).mean(axis=1)


def _dimension_scores(run: Run) -> dict[str, Array]:
    """Return the panel's means by dimension; none where dimensions are on different scales."""
    if not RunCells.of(run).one_scale:
        return {}
    judges = run.ranking_columns()[0]
    return {
        item.id: mean_there(run.ratings[:, judges, run.dimensions.index(item.id)], 1)
        for item in run.rubric.numeric
    }


def _by_system(run: Run, strata: Mapping[str, Array]) -> list[StratumContrast]:
    """Test each system's lead within prompts by stratum, from scores `(responses,)` of each."""
    names = list(dict.fromkeys(item.system for item in run.items))
    if len(names) < 2:
        return []
    own = np.array([[item.system == name for item in run.items] for name in names])
    ahead = [
        (name, {each: _ahead(run, scores, mine) for each, scores in strata.items()})
        for name, mine in zip(names, own, strict=True)
    ]
    return _contrasts(run, ahead)


def _ahead(run: Run, scores: Array, mine: Mask) -> Array:
    """Return how far a system's responses are above the mean of the others' to the prompt."""
    codes = encode_labels([item.prompt_id for item in run.items], len(run.items))[1]
    n = int(codes.max(initial=-1)) + 1
    others = means_by(np.where(mine, nan, scores), codes, n)
    result: Array = np.where(mine, scores - others[codes], nan)
    return result


def _contrasts(
    run: Run, scores: Sequence[tuple[str, Mapping[str, Array]]]
) -> list[StratumContrast]:
    """Contrast the strata of each of several scores; p-values are adjusted over all of them."""
    names, codes = encode_labels([item.prompt_id for item in run.items], len(run.items))
    result = [
        (system, stratum_difference)
        for system, strata in scores
        for stratum_difference in stratum_differences(
            [
                (name, StratumFigure.mean(means_by(values, codes, len(names)), names))
                for name, values in strata.items()
                if not np.isnan(values).all()
            ]
        )
    ]
    adjusted = holm_adjusted([entry for _, entry in result])
    return [
        StratumContrast(entry.a, system, entry)
        for (system, _), entry in zip(result, adjusted, strict=True)
    ]


def _judges_interactions(run: Run, by: str) -> Sequence[Departure | GroupDifference]:
    if by == "persona":
        cells = RunCells.of(run)
        return departures_by_system(
            cells.composite or cells.dimensions, cells.systems, cells.prompts
        )
    if by == "axis":
        return axis_differences(run).interactions
    return model_differences(run).interactions


_NAMED = 5
"""How many of the significant differences are named."""
_FIGURES = {"each": "each text", "best": "best text", "first place": "best text"}
_LINES = 40
"""How many systems within strata people are shown."""


def systems_by_result(by_stratum: SystemsBy, run: Run, *, lines: int = _LINES) -> Result:
    """Return the result of what `systems_by` gives of a run.

    Args:
        lines: how many systems within strata people are shown, at most.
    """
    by = by_stratum.by
    stratum, system = Key("stratum", by), Key("system", "system")
    limits = (-inf, inf) if by == "dimension" else composite_limits(run.rubric)
    strata = {each.stratum for each in by_stratum.systems[:lines]}
    more = sum(each.stratum not in strata for each in by_stratum.systems)
    systems = Table(
        "systems",
        (stratum, system),
        (
            Column("mean", "estimate", "mean"),
            Column("n_prompts", "whole", "prompts"),
        ),
        [
            {"stratum": each.stratum, "system": each.system, "n_prompts": each.mean.n}
            | {"mean": replace(each.mean, limits=limits)}
            for each in by_stratum.systems
        ],
        f"Systems by {by}",
        short={"stratum": strata},
    )
    differences = Table(
        "differences",
        (Key("a", "system"), Key("b"), stratum),
        (Column("difference", "estimate", "difference", signed=True, p="column"),),
        [
            {"a": of.a, "b": of.b, "stratum": each.stratum, "difference": of}
            for each in by_stratum.differences
            for of in (each.difference,)
        ],
        sides=("a", "b"),
    )
    counts = Table(
        "counts",
        (Key("by"),),
        (Column("n_without", "whole"),),
        [{"by": by, "n_without": by_stratum.n_without}],
    )
    return Result(
        "strata",
        _conclusion(by_stratum),
        (
            systems,
            _between(by_stratum),
            _authors(by_stratum),
            differences,
            _interactions(by_stratum),
            counts,
        ),
        [f"{more:,} more lines: --json."] if more else [],
    )


def _conclusion(by_stratum: SystemsBy) -> list[str]:
    by = by_stratum.by
    if not by_stratum.systems:
        return [f"There is nothing to go by: no {by} is known."]
    tested = [each for each in by_stratum.differences if each.difference.reason is None]
    shown = [(each.stratum, each.difference) for each in tested if each.difference.shown]
    named = [
        f"{of.a} − {of.b} in {stratum} {of.number(with_sign=True)}{in_brackets(of.p_text())}"
        for stratum, of in shown
    ]
    text = f"Differences between systems by {by}: {len(shown):,} of {len(tested):,} significant "
    text += "(p adjusted by Holm's method over all of them)"
    text += f": {first_of(named, _NAMED)}." if named else "."
    sentences = [text]
    every = [
        each.difference if isinstance(each, StratumContrast) else each
        for each in by_stratum.interactions
    ]
    if interactions := [each for each in every if each.reason is None]:
        n = sum(each.shown for each in interactions)
        sentences.append(
            f"An interaction of system and {by} is shown by {n:,} of "
            f"{counted(len(interactions), 'test')}."
        )
    if by_stratum.n_without:
        sentences.append(f"{counted(by_stratum.n_without, 'response')} without a value left out.")
    return sentences


def _interactions(by_stratum: SystemsBy) -> Table:
    """Test whether systems stand otherwise in one stratum than in another, for programs."""
    return Table(
        "interactions",
        (Key("stratum"), Key("b"), Key("dimension"), Key("system")),
        (Column("departure", "number"), Column("difference", "estimate")),
        [_interaction(each) for each in by_stratum.interactions],
    )


def _interaction(each: Departure | GroupDifference | StratumContrast) -> dict[str, object]:
    if isinstance(each, Departure):
        row = {"stratum": each.persona, "system": each.on, "departure": each.departure}
        return row | {"difference": each}
    if isinstance(each, GroupDifference):
        row = {"stratum": each.a, "b": each.b, "dimension": each.dimension, "system": each.system}
        return row | {"difference": each}
    return {"stratum": each.stratum, "system": each.system, "difference": each.difference}


def _between(by_stratum: SystemsBy) -> Table:
    return Table(
        "between",
        (Key("stratum", by_stratum.by), Key("system")),
        (
            Column("difference", "estimate", "difference", signed=True, p="column"),
            Column("n_prompts", "whole", "prompts"),
        ),
        [
            {"stratum": each.stratum, "system": each.system, "difference": each.difference}
            | {"n_prompts": each.difference.n}
            for each in by_stratum.between
        ],
        f"Composite by {by_stratum.by}: above the mean of the others",
    )


def _authors(by_stratum: SystemsBy) -> Table:
    return Table(
        "authors",
        (Key("pair", by_stratum.by), Key("a"), Key("b"), Key("figure", "text", labels=_FIGURES)),
        (
            Column("share", "estimate", "share", p="column"),
            Column("chance", "number", "by\nchance"),
            Column("n_prompts", "whole", "prompts"),
            Column("n_texts", "whole"),
        ),
        [
            {
                "pair": f"{each.a} above {each.b or 'all others'}",
                "a": each.a,
                "b": each.b,
                "figure": each.figure,
                "share": each.share,
                "chance": each.chance,
                "n_prompts": each.share.n,
                "n_texts": each.n_texts,
            }
            for each in by_stratum.authors
        ],
        f"By {by_stratum.by}: ranking over the same prompts",
        remarks=[
            "Each text: share of pairs, one text of either. Best text: share of prompts whose best "
            "text it is. A prompt counts once, a tie in equal parts; p adjusted by Holm's method "
            "over all lines."
        ],
    )
