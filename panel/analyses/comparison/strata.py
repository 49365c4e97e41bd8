"""Two runs compared within strata of judges, texts or the rubric, and whether these differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from persona_panel.analyses.breakdown.groups import axes_of
from persona_panel.analyses.breakdown.rating_strata import mapping_of, no_column
from persona_panel.analyses.comparison.matching import Matched
from persona_panel.analyses.comparison.opened_run import OpenedRun
from persona_panel.analyses.comparison.scored_terms import ScoredTerms, scored_terms
from persona_panel.statistics.core.arrays import Reason, encode_labels
from persona_panel.statistics.core.display import COMPOSITE
from persona_panel.statistics.core.estimate import Difference
from persona_panel.statistics.paired import PairedTerms, mean_over_prompts_of
from persona_panel.statistics.strata import (
    StratumFigure,
    stratum_differences,
    undefined_difference,
)

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
        names, _ = encode_labels(item.prompts, len(item.prompts))
        scores = mean_over_prompts_of(item.paired.difference, item.prompts)
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
