"""Compare runs: other texts, or another panel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from persona_panel.analyses import parameters
from persona_panel.analyses.analysis import analysis
from persona_panel.results.conclusions.wording import SAMPLES, counted
from persona_panel.results.result import Result, answers_table
from persona_panel.results.table import Column, Key, Table, row_of
from persona_panel.statistics.core.display import COMPOSITE
from persona_panel.statistics.core.estimate import Difference

if TYPE_CHECKING:
    from persona_panel.analyses.comparison.result import (
        ChangedResponse,
        ComparedRuns,
        RunComparison,
    )
    from persona_panel.analyses.inputs import RatingsSource, RunSource
    from persona_panel.files.ratings import GivenScale
    from persona_panel.files.records import ColumnMapping
    from persona_panel.statistics.core.arrays import Random
    from persona_panel.statistics.paired import PairedDifference

_IDS_SHOWN = 2
_STATISTICS = {
    "tau_b": "τ_b",
    "distance": "distance",
    "alt_test_advantage": "advantage ρ",
    "alt_test_winning_rate": "winning rate",
}


@analysis(
    "Runs compared",
    click.Argument(["run_a"], metavar="RUN_A"),
    click.Argument(["run_b"], metavar="RUN_B"),
    click.Argument(["more"], metavar="[RUN…]", nargs=-1),
    parameters.people(
        "Human ratings of the texts, where panels are compared: which panel is closer to people.",
        parameters.COLUMNS_OF_RATINGS,
    ),
    parameters.epsilon(
        "With --human, add either panel's winning rate by the alternative annotator test,",
        needs="--human",
    ),
    parameters.by(
        "Also the differences within each persona, axis (of personas), model, prompt or "
        "dimension, or each value of a column of the responses, and whether they differ between "
        "these."
    ),
    parameters.random("What intervals and tests take as a sample"),
    group="Start",
    example="runs/first runs/second",
    requirements=("difference[new, old] > -0.2", "difference[new, old, clarity] >= 0"),
)
def compare(
    run_a: RunSource,
    run_b: RunSource,
    *more: RunSource,
    human: RatingsSource | None = None,
    random: Random = "prompts",
    by: str | None = None,
    epsilon: float | None = None,
    human_mapping: ColumnMapping | None = None,
    human_scale: GivenScale | None = None,
    allow_unmatched: bool = False,
) -> Result:
    """Compare runs with the first of them: each RUN is the folder of a run of `score`.

    Other texts, same panel (did a new system improve?): systems of the same name are paired, or
    the two systems where each run has one; their responses by prompt, and by the metadata column
    `pair` where all of them have one; ratings by judge. Same texts, other panel (another model,
    elicitation, or personas): ratings of the same responses are paired. It is said which of the two
    it is, and what does not match.

    For the composite and each dimension it prints the mean difference over prompts, with a 95 %
    confidence interval and p adjusted by Holm's method over all dimensions and runs (the composite
    is a family of its own); with --full also the effect
    size (the mean of the prompts' differences, divided by their standard deviation); and the
    responses that changed most. Of two panels, also how far they rank responses alike and, with
    --human, which of them is closer to people: in how it ranks responses, in its scores, and in how
    often it is at least as near to the other people as a person is (the advantage `rho` of
    `people correlate`).

    RATINGS is a file as `people correlate` reads it; --map-human says which columns its fields are,
    where they have other names.

    Args:
        run_a, run_b, more: runs that were written, or their folders.
        human: people's ratings of the texts, where panels are compared.
        random: what intervals and tests take as a sample: prompts, judges fixed,
            or judges, too, by the personas and models that both sides have.
        by: also within each `persona`, `axis`, `model`, `prompt` or `dimension`, or each value of a
            column of the responses' metadata, and whether these differ.
        epsilon: by how much a person may be ahead, in [0, 1): with it, the winning rate of each
            panel over these people is there, too (see `annotator_test`).
        human_mapping: of the columns of a file of ratings that have other names.
        human_scale, allow_unmatched: of people's ratings; see `load_aligned_ratings`.

    Raises:
        InputError: a run cannot be read or compared with the first; names what was found and what
            would do, for all runs at once.
        ValueError: `random` is neither.
    """
    from persona_panel.analyses.comparison.compared import compare_runs
    from persona_panel.analyses.inputs import HumanInput

    people = None
    if human is not None:
        people = HumanInput(human, human_mapping, human_scale, allow_unmatched)
    return compare_result(compare_runs([run_a, run_b, *more], people, random, by, epsilon))


def compare_result(comparison: RunComparison) -> Result:
    """Return the result of runs that were compared."""
    from persona_panel.results.conclusions.wording import origin_sentences

    labels = {COMPOSITE: COMPOSITE, **comparison.labels}
    last = [PurePath(name).name for name in comparison.runs]
    short = {
        name: own
        for name, own in zip(comparison.runs, last, strict=True)
        if last.count(own) == 1 and own not in comparison.runs
    }
    runs = Key("b", "run", labels=short), Key("a", labels=short)
    dimension = Key("dimension", "dimension", {COMPOSITE}, labels)
    by = comparison.by or ""
    of_strata = labels if by == "dimension" else {}
    pairs = comparison.compared
    tables = [
        Table(
            "differences",
            (*runs, dimension),
            _difference_columns("difference"),
            [
                _row(each, of, dimension=name)
                for each in pairs
                for name, of in each.differences.items()
            ],
            "Differences b − a",
            sides=("b", "a"),
            remarks=[text for each in pairs for text in _matching(each)],
        ),
        Table(
            "systems",
            (*runs, Key("system", "system")),
            _difference_columns(),
            [_row(each, of, system=name) for each in pairs for name, of in each.systems.items()],
            "Composite by system",
            sides=("b", "a"),
        ),
        Table(
            "strata",
            (*runs, Key("by"), Key("stratum", by, labels=of_strata), Key("dimension")),
            _difference_columns(),
            [
                _row(each, of, by=by, stratum=stratum, dimension=name)
                for each in pairs
                for stratum, name, of in each.strata
            ],
            "Differences by dimension" if by == "dimension" else f"Composite by {by}",
            sides=("b", "a"),
        ),
        _apart(pairs, runs, by, of_strata),
        _alike(pairs, runs, dimension),
        _people(comparison, runs, dimension),
        _changed(pairs, runs),
        Table(
            "runs",
            runs,
            (
                Column("compared", "text", words=("texts", "panels")),
                Column("panel", "texts"),
                Column("notes", "texts"),
                Column("n_judges_a", "whole"),
                Column("n_judges_b", "whole"),
            ),
            [
                {"a": each.a, "b": each.b, "compared": each.compared, "panel": each.panel}
                | {"notes": each.notes}
                | dict(zip(("n_judges_a", "n_judges_b"), each.n_judges, strict=True))
                for each in pairs
            ],
        ),
    ]
    if comparison.personas is not None:
        tables.append(answers_table([comparison.personas]))
    return Result(
        "compare",
        comparison.conclusion,
        tables,
        _how_to_read(comparison),
        reading=[] if comparison.people is None else origin_sentences(comparison.people),
    )


def _difference_columns(figure: str = "") -> tuple[Column, ...]:
    return (
        Column("a_mean", "number", "a"),
        Column("b_mean", "number", "b"),
        Column(
            "difference", "estimate", "b − a", signed=True, p="column", figure=figure,
            p_figure="p" if figure else "",
        ),
        Column(
            "effect_size", "estimate", "effect\nsize", signed=True, full=True,
            figure="effect_size" if figure else "",
        ),
        Column("wins", "whole", "wins", full=True),
        Column("ties", "whole", "ties", full=True),
        Column("losses", "whole", "losses", full=True),
        Column("n_pairs", "whole", "pairs", full=True),
    )  # fmt: skip


def _row(runs: ComparedRuns, of: PairedDifference, **keys: str) -> dict[str, Any]:
    effect_size = Difference(of.effect_size, reason=of.reason)
    values = {"a": runs.a, "b": runs.b, "difference": of, "effect_size": effect_size, **keys}
    return row_of(of, _difference_columns(), **values)


def _apart(
    pairs: Sequence[ComparedRuns], runs: tuple[Key, ...], by: str, labels: Mapping[str, str]
) -> Table:
    """Say whether the difference depends on the stratum; of two, the first stands for both."""
    names: dict[str, str] = dict(labels)
    for each in pairs:
        if len(each.apart) == 1 and len(each.strata) == 2:
            both = [stratum for stratum, *_ in each.strata]
            names[both[0]] = " − ".join(labels.get(name, name) for name in both)
    return Table(
        "apart",
        (*runs, Key("by"), Key("stratum", by, labels=names)),
        (Column("difference", "estimate", "difference", signed=True, p="column"),),
        [
            {"a": each.a, "b": each.b, "by": by, "stratum": of.a, "difference": of}
            for each in pairs
            for of in each.apart
        ],
        f"Does b − a depend on {by}?",
        sides=("b", "a"),
        remarks=[
            "b − a in a stratum less its mean in the others; of two, that in the first less that "
            "in the second. Over prompts, judges fixed. p is adjusted by Holm's "
            "method over all lines."
        ],
    )  # fmt: skip


def _alike(pairs: Sequence[ComparedRuns], runs: tuple[Key, ...], dimension: Key) -> Table:
    return Table(
        "alike",
        (*runs, dimension),
        (
            Column("tau_within", "estimate", "τ_b within\nprompts"),
            Column("tau", "estimate", "τ_b"),
            Column("alpha", "estimate", "α"),
            Column("best_same", "whole", "best:\nsame", full=True),
            Column("best_shared", "whole", "best:\nshared", full=True),
            Column("best_other", "whole", "best:\nother", full=True),
        ),
        [
            {
                "a": each.a,
                "b": each.b,
                "dimension": row.dimension,
                "tau_within": row.tau_within,
                "tau": row.tau,
                "alpha": row.alpha,
                "best_same": row.best.same,
                "best_shared": row.best.shared,
                "best_other": row.best.flipped,
            }
            for each in pairs
            for row in each.alike
        ],
        "Agreement of the two panels",
        remarks=[
            "τ_b: 1, the same order of responses; 0, none in common. α: Krippendorff's, at the "
            "interval level: 1, the same scores. Best: in how many prompts both rate the same one "
            "highest, share some of several that tie, or rate another one highest."
        ],
    )  # fmt: skip


def _people(comparison: RunComparison, runs: tuple[Key, ...], dimension: Key) -> Table:
    every = [nearer for each in comparison.compared for nearer in each.people.values()]
    remarks = [
        "τ_b with the mean human rating: higher is closer. Distance of a panel's score from it, on "
        "the panel's scale, if people rated on that: lower is closer. So b − a above 0 says of τ_b "
        "that b is closer, of the distance that b is farther. Differences are paired by prompt; p "
        "is adjusted by Holm's method over them, all figures, dimensions and runs; composites are "
        "a family of their own, as above."
    ]
    if any("alt_test_advantage" in nearer.figures for nearer in every):
        epsilon = "" if comparison.epsilon is None else f", epsilon {comparison.epsilon:g}"
        remarks.append(
            f"By the alternative annotator test{epsilon}: advantage ρ, how often a panel is at "
            "least as near to the other people as a person is, on average over people who share 30 "
            "items; higher is better, people fixed. Winning rate (with "
            "--epsilon): the share of people for whom it is as close to the others; a count of "
            "tests, which has no interval."
        )
    within = any(nearer.within for nearer in every)
    return Table(
        "people",
        (*runs, Key("statistic", "statistic", labels=_STATISTICS), dimension),
        (
            Column("a_value", "number", "a"),
            Column("b_value", "number", "b"),
            Column("difference", "estimate", "b − a", signed=True, p="column"),
            Column("n_items", "whole"),
        ),
        [
            {"a": each.a, "b": each.b, "dimension": name, "statistic": statistic}
            | {"a_value": of.a_value, "b_value": of.b_value}
            # ω has no difference that is tested.
            | ({"difference": of, "n_items": of.n_items} if of.over else {})
            for each in comparison.compared
            for name, nearer in each.people.items()
            for statistic, of in nearer.figures.items()
        ],
        "Which panel is closer to people (τ_b "
        f"{'within prompts' if within else 'over all responses'})",
        sides=("b", "a"),
        remarks=remarks,
    )


def _changed(pairs: Sequence[ComparedRuns], runs: tuple[Key, ...]) -> Table:
    texts = any(each.compared == "texts" for each in pairs)
    return Table(
        "changed",
        (*runs, Key("change", "b is"), Key("response", "prompt, system, response")),
        (
            Column("prompt", "text", "prompt", full=True),
            Column("a_mean", "number", "a"),
            Column("b_mean", "number", "b"),
            Column("change_by", "number", "b − a", signed=True),
        ),
        [
            {"a": each.a, "b": each.b, "change": how, "response": _label(of), "prompt": of.prompt}
            | {"a_mean": of.a, "b_mean": of.b, "change_by": of.difference}
            for each in pairs
            for how, those in (("higher", each.risen), ("lower", each.fallen))
            for of in those
        ],
        "Responses that changed most"
        if texts
        else "Responses that the panels rate most differently",
        sides=("b", "a"),
    )


def _label(of: ChangedResponse) -> str:
    """Name a response by its prompt, system and ids, those of both runs where they differ."""
    sides = dict.fromkeys(map(_ids, (of.a_ids, of.b_ids)))
    return f"{of.prompt_id}, {of.system}, {' → '.join(sides)}"


def _ids(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_IDS_SHOWN]) + (", …" if len(ids) > _IDS_SHOWN else "")


def _matching(each: ComparedRuns) -> Iterator[str]:
    """Say what was compared, and what does not match."""
    texts = "Same texts" if each.compared == "panels" else "Other texts"
    panel = "other panel" if each.panel else "same panel"
    joined = " and " if each.compared == "texts" and each.panel else ", "
    whole = next(iter(each.differences.values()))
    judges = " and ".join(dict.fromkeys(counted(n, "judge") for n in each.n_judges))
    yield (
        f"{texts}{joined}{panel}: {each.b} compared with {each.a}. "
        f"{counted(whole.n or 0, 'prompt')}, {counted(whole.n_pairs, 'pair')} of responses, "
        f"{judges}."
    )
    if each.panel:
        yield f"The panels differ in: {'; '.join(each.panel)}."
    yield from each.notes


def _how_to_read(comparison: RunComparison) -> list[str]:
    return [
        f"a: {comparison.runs[0]}; b: the run compared with it. Intervals and tests are "
        f"{SAMPLES[comparison.random]}; a prompt counts once. p: Student's t, adjusted by Holm's "
        "method over all dimensions and runs; composites are a family of their own (by system: "
        "over all systems and runs). Intervals are each at 95 %, not widened for their number. "
        "Effect size: the mean of the prompts' differences, divided by their standard deviation. "
        "The largest changes are partly chance: in other runs they would be smaller."
    ]
