"""The ratings of two matched runs in pairs: what their composites and dimensions are means of, also
within strata of judges, texts or the rubric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from persona_panel.analyses.comparison.matching import Matched
from persona_panel.analyses.comparison.opened_run import OpenedRun
from persona_panel.analyses.judge_groups import axes_of
from persona_panel.analyses.rating_strata import mapping_of, no_column
from persona_panel.files.errors import Fault, InputError
from persona_panel.graphs.aggregate import composite_rule
from persona_panel.rubrics import CategoryScale, Composite, Dimension
from persona_panel.runs.collected import judge_facets
from persona_panel.runs.scale_limits import (
    composite_limits,
    composite_terms,
    mean_limits,
    share_name,
)
from persona_panel.statistics.core.arrays import (
    Array,
    Labels,
    Reason,
    encode_labels,
    mean_there,
    means_by,
)
from persona_panel.statistics.core.display import COMPOSITE, general
from persona_panel.statistics.core.estimate import Difference
from persona_panel.statistics.core.sampled_mean import Limits
from persona_panel.statistics.core.table import with_several_levels
from persona_panel.statistics.paired import (
    PairedTerms,
    by_other_judges,
    by_same_judges,
)
from persona_panel.statistics.strata import (
    StratumFigure,
    stratum_differences,
    undefined_difference,
)


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTerms:
    """The scores that two runs are compared by.

    Attributes:
        paired: by dimension, the composite first; the share of a category is a dimension.
        limits: between which scores on a dimension lie, in both.
        same_as: of a dimension that is the composite, `composite`.
        factors: what judges are a sample by, a label a judge of `paired`: what both sides have.
        left_out: dimensions that cannot be compared, as one of the runs lacks them, and a composite
            that is formed in another way.
    """

    paired: Mapping[str, PairedTerms]
    limits: Mapping[str, Limits]
    same_as: Mapping[str, str]
    factors: Mapping[str, Labels]
    left_out: tuple[str, ...]


def scored_terms(a: OpenedRun, b: OpenedRun, matched: Matched) -> ScoredTerms:
    """Return what two runs have in common, in pairs.

    Raises:
        InputError: a dimension, or the composite, is on another scale in either; or they have no
            dimension in common.
    """
    rules = [composite_rule(item.run.rubric) for item in (a, b)]
    # Judge by judge, composites are compared where they are means of the same terms.
    whole = None not in rules and (matched.compared == "panels" or rules[0] == rules[1])
    _refuse_other_scales(a, b, whole=whole)
    shared = [name for name in a.run.dimensions if name in b.run.dimensions]
    sides = [
        dict(_terms(column, shared, rows, columns, whole=whole))
        for column, rows, columns in zip((a, b), matched.rows, matched.columns, strict=True)
    ]
    names = list(sides[0])
    if not names:
        raise InputError(
            [
                Fault(
                    b.name,
                    f"only dimensions that {a.name} does not have: {', '.join(b.run.dimensions)}",
                    f"dimensions of {a.name}: {', '.join(a.run.dimensions)}",
                    field="dimension",
                )
            ]
        )
    pair = by_same_judges if matched.compared == "texts" else by_other_judges
    alone = [
        name
        for item, other in ((a, b), (b, a))
        for name in item.run.dimensions
        if name not in other.run.dimensions
    ]
    limits = mean_limits(a.run.rubric, names)
    return ScoredTerms(
        {name: pair(sides[0][name], sides[1][name]) for name in names},
        dict(zip(names, limits, strict=True))
        | ({COMPOSITE: composite_limits(a.run.rubric)} if whole else {}),
        _repeats(rules) if whole else {},
        _factors(a, b, matched),
        (*alone, *([] if whole or None in rules else [COMPOSITE])),
    )


def _terms(
    opened: OpenedRun,
    dimensions: Sequence[str],
    rows: Sequence[tuple[int, ...]],
    columns: Sequence[int],
    *,
    whole: bool,
) -> Iterator[tuple[str, Array]]:
    """Yield by dimension the terms `(pairs, judges, terms)`, means over a side's responses."""
    run, ratings = opened.run, opened.run.ratings[:, list(columns)]
    if whole:
        terms = composite_terms(ratings, run.rubric, run.dimensions, run.categories)
        if terms is not None:
            yield COMPOSITE, _of_pairs(terms, rows)
    for name in dimensions:
        own = ratings[:, :, [run.dimensions.index(name)]]
        if (categories := run.categories.get(name)) is None:
            yield name, _of_pairs(own, rows)
            continue
        for code, category in enumerate(categories):
            chosen = np.where(np.isnan(own), np.nan, own == code)
            yield share_name(name, category), _of_pairs(chosen, rows)


def _of_pairs(terms: Array, rows: Sequence[tuple[int, ...]]) -> Array:
    if all(len(those) == 1 for those in rows):
        result: Array = terms[[those[0] for those in rows]]
        return result
    return np.array([mean_there(terms[list(those)], 0) for those in rows])


def _factors(a: OpenedRun, b: OpenedRun, matched: Matched) -> dict[str, Labels]:
    """Return personas and models, where there are several and both sides have the same ones."""
    facets = [
        judge_facets(item.run.judges[column] for column in columns)
        for item, columns in zip((a, b), matched.columns, strict=True)
    ]
    if matched.compared == "texts":
        facets = facets[:1]
    return {
        name: [label for side in facets for label in side[name]]
        for name, labels in with_several_levels(facets[0]).items()
        if all(set(side[name]) == set(labels) for side in facets)
    }


def _repeats(rules: Sequence[Composite | None]) -> dict[str, str]:
    """Return the dimension that the composite of both sides is."""
    names = {None if rule is None else _only_term(rule) for rule in rules}
    name = names.pop()
    return {} if names or name is None else {name: COMPOSITE}


def _only_term(rule: Composite) -> str | None:
    if rule.reliable_where is not None:
        return None
    if rule.share_of is not None:
        return share_name(rule.share_of.dimension, rule.share_of.value)
    if rule.mean_of is not None and len(rule.mean_of) == 1:
        return rule.mean_of[0]
    return None


def _refuse_other_scales(a: OpenedRun, b: OpenedRun, *, whole: bool) -> None:
    ours, theirs = ({item.id: item for item in run.run.rubric.dimensions} for run in (a, b))
    faults = [
        Fault(
            b.name,
            f"the scale {_scale(theirs[name])}",
            f"that of {a.name}, {_scale(dimension)}: only ratings on one scale have a difference; "
            "score both runs with one rubric",
            field=name,
        )
        for name, dimension in ours.items()
        if name in theirs and _scale(theirs[name]) != _scale(dimension)
    ]
    if whole and not faults:
        faults += _other_composite(a, b)
    if faults:
        raise InputError(faults)


def _other_composite(a: OpenedRun, b: OpenedRun) -> list[Fault]:
    first, second = (composite_limits(item.run.rubric) for item in (a, b))
    if first == second:
        return []
    text = [f"{general(low)} to {general(high)}" for low, high in (first, second)]
    expected = (
        f"one like that of {a.name}, from {text[0]}: only ratings on one scale have a difference; "
        "score both runs with one rubric"
    )
    return [Fault(b.name, f"a composite from {text[1]}", expected, field=COMPOSITE)]


def _scale(dimension: Dimension) -> str:
    """Return a scale as far as ratings depend on it."""
    scale = dimension.scale
    if isinstance(scale, CategoryScale):
        return ", ".join(scale.names)
    return f"{general(scale.min)} to {general(scale.max)}"


_BY_JUDGES = ("persona", "axis", "model")


@dataclass(frozen=True, slots=True, eq=False)
class StratumTerms:
    """The scores that two runs are compared by within a stratum: pairs with their prompts.

    Attributes:
        name: of the dimension that it is on; `composite` for the whole.
    """

    stratum: str
    name: str
    paired: PairedTerms
    prompts: list[str]
    terms: ScoredTerms


def stratum_terms(
    a: OpenedRun, b: OpenedRun, matched: Matched, terms: ScoredTerms, by: str
) -> list[StratumTerms]:
    """Return the strata that both runs have, in order of appearance: composites, or dimensions.

    Judges of a stratum are compared with each other; of texts, pairs whose responses have the same
    value in both runs.

    Raises:
        InputError: the responses have no such column.
    """
    prompts = [pair.prompt_id for pair in matched.pairs]
    if by == "dimension":
        return [
            StratumTerms(name, name, paired, prompts, terms)
            for name, paired in terms.paired.items()
            if name != COMPOSITE
        ]
    if COMPOSITE not in terms.paired:
        return []
    if by in _BY_JUDGES:
        result = []
        sides = [
            _columns(column, columns, by)
            for column, columns in zip((a, b), matched.columns, strict=True)
        ]
        for stratum in sides[0]:
            if stratum in sides[1]:
                own = replace(matched, columns=(sides[0][stratum], sides[1][stratum]))
                part = scored_terms(a, b, own)
                result.append(
                    StratumTerms(stratum, COMPOSITE, part.paired[COMPOSITE], prompts, part)
                )
        return result
    labels: Sequence[str | None] = prompts if by == "prompt" else _values(a, b, matched, by)
    whole, result = terms.paired[COMPOSITE], []
    for label in dict.fromkeys(labels):
        if label is None:
            continue
        kept = np.array([item == label for item in labels])
        own_prompts = [prompt for prompt, is_in in zip(prompts, kept, strict=True) if is_in]
        result.append(StratumTerms(label, COMPOSITE, whole.of(kept), own_prompts, terms))
    return result


def strata_apart(strata: Sequence[StratumTerms]) -> list[Difference]:
    """Compare the difference of the runs in each stratum with that in the others, over prompts with
    these judges as they are. Dimensions on different scales are not compared."""
    limits = {stratum.terms.limits[stratum.name] for stratum in strata}
    if len(limits) > 1:
        return [undefined_difference(each.stratum, Reason.OTHER_SCALE) for each in strata]
    figures = []
    for item in strata:
        names, codes = encode_labels(item.prompts, len(item.prompts))
        scores = means_by(item.paired.difference, codes)
        figures.append((item.stratum, StratumFigure.mean(scores, names)))
    return stratum_differences(figures)


def _columns(opened: OpenedRun, columns: Sequence[int], by: str) -> dict[str, tuple[int, ...]]:
    """Return the judges of each stratum, by their columns."""
    axes = axes_of(opened.run)
    result: dict[str, tuple[int, ...]] = {}
    for column in columns:
        judge = opened.run.judges[column]
        name = axes.get(judge.persona, "") if by == "axis" else getattr(judge, by)
        if name:
            result[name] = (*result.get(name, ()), column)
    return result


def _values(a: OpenedRun, b: OpenedRun, matched: Matched, by: str) -> list[str | None]:
    """Return the value that all responses of a pair have in common, None where there is none."""
    known = [name for item in (a, b) for text in item.texts.values() for name in text.metadata]
    for entry in (a, b):
        if not any(by in text.metadata for text in entry.texts.values()):
            there = ("persona", "axis", "model", "prompt", "dimension", *known)
            raise no_column(entry.name, by, there, mapping_of(Path(entry.name)))
    result: list[str | None] = []
    sides = [{row: key for key, row in item.rows.items()} for item in (a, b)]
    for pair in matched.pairs:
        values = {
            item.texts[keys[row]].metadata.get(by)
            for item, keys, rows in zip((a, b), sides, (pair.a_rows, pair.b_rows), strict=True)
            for row in rows
        }
        result.append(values.pop() if len(values) == 1 else None)
    return result
