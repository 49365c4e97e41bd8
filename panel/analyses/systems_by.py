"""The systems of a run within strata, as `score --by` prints them and a page shows them."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from persona_panel.analyses.breakdown.strata import StratumContrast, SystemsBy
from persona_panel.results.conclusions.wording import counted, first_of, in_brackets
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import composite_limits
from persona_panel.statistics.group_differences import GroupDifference
from persona_panel.statistics.personas import Departure

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
    said = f"Differences between systems by {by}: {len(shown):,} of {len(tested):,} significant "
    said += "(p adjusted by Holm's method over all of them)"
    said += f": {first_of(named, _NAMED)}." if named else "."
    sentences = [said]
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
