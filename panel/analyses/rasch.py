"""Rank systems with judges' severity taken out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import click

from persona_panel.analyses import parameters
from persona_panel.analyses.analysis import analysis
from persona_panel.results.conclusions.wording import counted, first_of, in_brackets
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, row_of
from persona_panel.statistics.core.display import number

if TYPE_CHECKING:
    from persona_panel.analyses.inputs import RatingsSource
    from persona_panel.files.ratings import GivenScale
    from persona_panel.files.records import ColumnMapping
    from persona_panel.statistics import (
        Difference,
        Element,
        Facet,
        ManyFacetRasch,
        OrdinalMixedModel,
        Ratings,
    )

FIT = (0.5, 1.5)
"""Mean squares between these are productive for measurement: J. M. Linacre (2002), "What do infit
and outfit, mean-square and standardized mean?"."""
_SHOWN = 10
"""Of so many systems or items, at most, are the lines of the short report."""
_NAMED = 3
_FAR = 1.0
_FEW = 10
"""A category with fewer ratings has an uncertain threshold (Linacre 2002, "Optimizing rating scale
category effectiveness")."""


@analysis(
    "Many-facet Rasch model",
    parameters.ratings("ratings"),
    parameters.Option(
        "--model",
        type=click.Choice(["rasch", "ordinal"]),
        default="rasch",
        show_default=True,
        help="ordinal: cumulative logit with random judges and prompts, in place of Rasch.",
    ),
    parameters.scale("--scale", "RATINGS"),
    group="Panel",
    example="runs/first",
    requirements=("logits_difference[a, b] > 0", "infit[judge] <= 1.5"),
)
def rasch(
    ratings: RatingsSource,
    *,
    model: Literal["rasch", "ordinal"] = "rasch",
    mapping: ColumnMapping | None = None,
    scale: GivenScale | None = None,
) -> Result:
    """Rank the systems of RATINGS with the severity of judges taken out (many-facet Rasch).

    RATINGS is a run's folder or a file of ratings, as `agree` reads it; sources are systems, and
    without any, items are ranked. Systems, prompts, judges and dimensions stand on one scale, in
    logits: a system one logit above another has e times its odds of the higher of two neighbouring
    ratings. Not every judge need read everything, but ratings must link the systems.

    Intervals are 95 %, over prompts (without prompts over items; those of items over raters). Infit
    and outfit are mean squares of a judge's residuals: 1 is expected, above 1.5 the judge rates
    unpredictably, below 0.5 too regularly. Printed are the conclusion and ten systems; with
    --full judges, prompts, dimensions, differences and thresholds, too. --json always has all.

    With --model ordinal, judges and prompts are random effects, whose standard deviations are
    shown, and a system one logit above another has e times its odds of a rating above any category.

    Args:
        ratings: a run's folder, a file of ratings, a run that has a folder, or ratings.
        model: what is fitted.
        mapping, scale: how the file is read; see `load_ratings`.

    Raises:
        InputError: anything is wrong with the ratings, or the model cannot be estimated from them:
            subsets of systems are not linked, there are no common categories.
    """
    from persona_panel.analyses.inputs import input_name, opened_ratings
    from persona_panel.files.errors import Fault, InputError
    from persona_panel.statistics import RaschError, many_facet_rasch, ordinal_mixed_model

    read = opened_ratings(ratings, mapping, scale=scale, scale_option="--scale")
    name = ratings if isinstance(ratings, str) else input_name(ratings, "the ratings")
    try:
        if model == "ordinal":
            return _ordinal_result(ordinal_mixed_model(read), read, source=name)
        return rasch_result(many_facet_rasch(read), read, source=name)
    except RaschError as error:
        called = "an ordinal mixed" if model == "ordinal" else "a many-facet Rasch"
        expected = f"ratings that {called} model can be estimated from"
        raise InputError([Fault(name, str(error), expected)]) from error


def rasch_result(fitted: ManyFacetRasch, ratings: Ratings, *, source: str = "") -> Result:
    """Return the result of a fitted model.

    Args:
        ratings: that it was fitted to.
        source: what they are called.
    """
    from persona_panel.analyses.inputs import reading_of
    from persona_panel.results.conclusions.rows import rater_word, short_names

    word, called = rater_word(ratings), short_names(ratings)
    tables = [
        _table(facet, word, called if facet.name == "judge" else ratings.labels)
        for facet in fitted.facets.values()
    ]
    return Result(
        "rasch",
        list(rasch_conclusion(fitted, word, called)),
        (*tables, _differences(fitted), _thresholds(fitted)),
        list(_remarks(fitted, word)),
        [
            f"{word.capitalize()}s outside {FIT[0]}–{FIT[1]} in infit or outfit are named (Linacre "
            "2002). Estimates are reduced in bias (Firth 1993), and so finite where all ratings "
            "are extreme."
        ],
        reading=[*reading_of(ratings)],
        source=source,
        coverage=ratings.coverage,
    )


def rasch_conclusion(fitted: ManyFacetRasch, word: str, called: Mapping[str, str]) -> Iterator[str]:
    """Yield which system is ahead, whether plain means have the same order, how far judges differ
    in severity and which of them do not fit.

    Args:
        word: what those who rated are called.
        called: what people read in place of their names.
    """
    facet = fitted.measured
    order = [each.name for each in facet.elements]
    if facet.name == "system":
        places = [(each.name, each.measure.value) for each in facet.elements]
        yield f"With the severity of {word}s taken out: {_best(places, fitted.differences)}"
    else:
        ends = f"{facet.elements[0].measure.number()} to {facet.elements[-1].measure.number()}"
        reliable = in_brackets(f"separation reliability {number(facet.reliability)}")
        yield f"With the severity of {word}s taken out, items lie at {ends} logits{reliable}."
    yield _by_plain_means(order, [each.mean for each in facet.elements], facet.name)
    if "judge" not in fitted.facets:
        return
    judges = fitted.facets["judge"].elements
    severe, lenient = (called.get(judges[end].name, judges[end].name) for end in (0, -1))
    apart = number(judges[0].measure.value - judges[-1].measure.value)
    yield f"The most severe {word}, {severe}, is {apart} logits from the most lenient, {lenient}."
    odd = [
        f"{called.get(each.name, each.name)} ({why})" for each in judges if (why := misfit(each))
    ]
    where = f"infit and outfit within {FIT[0]}–{FIT[1]}"
    if odd:
        n = counted(len(odd), word)
        yield f"{n} of {len(judges):,} without {where}: {first_of(odd, _NAMED)}."
    else:
        yield f"All {len(judges):,} {word}s rate as the model expects ({where})."


def _best(places: Sequence[tuple[str, float]], differences: Sequence[Difference]) -> str:
    from persona_panel.analyses.ranked_systems import Ranked, best_sentence

    return best_sentence(Ranked(places, differences), None, unit=" logits")


def _by_plain_means(order: Sequence[str], means: Sequence[float], what: str) -> str:
    plain = [name for _, name in sorted(zip((-mean for mean in means), order, strict=True),
                                        key=lambda each: each[0])]  # fmt: skip
    moved = sum(name != own for name, own in zip(plain, order, strict=True))
    if not moved:
        return f"Plain means rank the {what}s in the same order."
    return (
        f"Plain means rank {moved:,} of {len(order):,} {what}s otherwise: "
        f"{first_of(plain, 2 * _NAMED)}."
    )


def _ordinal_result(fitted: OrdinalMixedModel, ratings: Ratings, *, source: str) -> Result:
    """Return the result of an ordinal mixed model."""
    from persona_panel.analyses.inputs import reading_of
    from persona_panel.results.conclusions.rows import rater_word

    word, systems = rater_word(ratings), fitted.systems
    places = [(each.name, each.measure.value) for each in systems]
    order = [name for name, _ in places]
    called = {"judge": word, "prompt": "prompt"}
    sds = [f"{called[name]}s {number(sd)}" for name, sd in fitted.sds.items()]
    conclusion = [
        f"With {word}s and prompts as random effects: {_best(places, fitted.differences)}",
        _by_plain_means(order, [each.mean for each in systems], "system"),
        f"Standard deviation of the effects, in logits: {', '.join(sds)}.",
    ]
    columns = (
        Column("log_odds", "estimate", "logits", figure="system_logits"),
        Column("mean", "number", "mean\nrating"),
        Column("n_ratings", "whole", "ratings", full=True),
        Column("model_error", "number"),
    )
    rows = [row_of(each, columns, system=each.name, log_odds=each.measure) for each in systems]
    key = Key("system", "system", labels=ratings.labels)
    sd_rows = [{"effect": called[name], "sd": sd} for name, sd in fitted.sds.items()]
    tables = (
        Table("systems", (key,), columns, rows, "Systems",
              short={"system": set(order[:_SHOWN])}),
        Table("effects", (Key("effect", "effects of"),), (Column("sd", "number", "SD"),), sd_rows,
              "Random effects, in logits", when="full"),
        _differences(fitted), _thresholds(fitted),
    )  # fmt: skip
    how = (
        "Cumulative logit model with crossed normal effects of judges and prompts, by Laplace's "
        "approximation. Intervals are the jackknife's over prompts, for these judges; where few "
        "ratings link the systems, a part of the judges' severity stays in the differences."
    )
    return Result(
        "rasch", conclusion, tables, [], [how], reading=[*reading_of(ratings)], source=source,
        coverage=ratings.coverage,
    )  # fmt: skip


def misfit(element: Element) -> str:
    """Return in which way the mean squares of an element are outside `FIT`; empty if in none."""
    worst = max((element.infit, element.outfit), key=lambda each: max(each, 1 / max(each, 1e-9)))
    if worst > FIT[1]:
        return "unpredictable"
    return "too regular" if worst < FIT[0] else ""


_MEASURES = {
    "judge": ("severity", ""), "prompt": ("difficulty", "Prompts"),
    "dimension": ("difficulty", "Dimensions"), "item": ("logits", "Items"),
    "system": ("logits", "Systems"),
}  # fmt: skip


def _table(facet: Facet, word: str, labels: Mapping[str, str]) -> Table:
    measure, title = _MEASURES[facet.name]
    judges = facet.name == "judge"
    if judges:
        title = f"{word.capitalize()}s"
    columns = (
        Column("measure", "estimate", measure, figure=f"{facet.name}_{measure}"),
        Column("mean", "number", "mean\nrating"),
        Column("infit", "number", "infit", figure="infit" if judges else "", full=not judges),
        Column("outfit", "number", "outfit", figure="outfit" if judges else "", full=not judges),
        Column("fit", "text", "fit" if judges else ""),
        Column("n_ratings", "whole", "ratings", full=True),
        Column("model_error", "number"),
        Column("extreme", "flag"),
    )
    rows = [
        row_of(each, columns, fit=misfit(each)) | {facet.name: each.name} for each in facet.elements
    ]
    reliability = number(facet.reliability)
    return Table(
        f"{facet.name}s",
        (Key(facet.name, word if judges else facet.name, labels=labels),),
        columns,
        rows,
        title,
        when="always" if facet.name in ("system", "item") else "full",
        short={facet.name: {each.name for each in facet.elements[:_SHOWN]}},
        remarks=[f"Separation reliability {reliability}."] if facet.reliability > 0 else [],
    )


def _differences(fitted: ManyFacetRasch | OrdinalMixedModel) -> Table:
    return Table(
        "differences",
        (Key("a", "systems"), Key("b")),
        (Column("difference", "estimate", "difference", signed=True, p="column",
                figure="logits_difference"),),
        [{"a": each.a, "b": each.b, "difference": each} for each in fitted.differences],
        "Differences of systems, in logits",
        when="full",
        sides=("a", "b"),
        remarks=["p adjusted by Shaffer's procedure over all pairs."],
    )  # fmt: skip


def _thresholds(fitted: ManyFacetRasch | OrdinalMixedModel) -> Table:
    columns = (
        Column("location", "estimate", "threshold"),
        Column("low", "number"),
        Column("high", "number"),
        Column("n", "whole", "ratings"),
    )
    rows = [
        row_of(each, columns) | {"step": f"{each.low:g} to {each.high:g}"}
        for each in fitted.thresholds
    ]
    return Table(
        "thresholds", (Key("step", "from … to"),), columns, rows, "Thresholds of the ratings",
        when="full",
    )  # fmt: skip


def _remarks(fitted: ManyFacetRasch, word: str) -> Iterator[str]:
    if fitted.unused:
        unused = first_of([f"{each:g}" for each in fitted.unused], _NAMED)
        yield f"Nobody gave the rating {unused}: without a threshold of its own."
    few = [f"{each.high:g}" for each in fitted.thresholds if each.n < _FEW]
    if few:
        where = first_of(few, _NAMED)
        yield f"Fewer than {_FEW} ratings are {where}: their thresholds are uncertain."
    places = [each.location.value for each in fitted.thresholds]
    falls = [
        f"{second.low:g}"
        for (first, second), (low, high) in zip(
            pairwise(fitted.thresholds), pairwise(places), strict=True
        )
        if high < low
    ]
    if falls:
        where = first_of(falls, _NAMED)
        yield f"Thresholds are not in order: {where} is nowhere the likeliest rating."
    if fitted.measured.name == "system" and places:
        beyond = [
            each.name
            for each in fitted.measured.elements
            if not each.extreme
            and max(places[0] - each.measure.value, each.measure.value - places[-1]) > _FAR
        ]
        if len(places) > 1 and beyond:
            yield (
                "More than a logit beyond the outermost thresholds: "
                f"{first_of(beyond, _NAMED)}. In simulations of such systems 93 to 72 % of 95 % "
                "intervals contained the difference, the fewer the farther beyond (6 and 12 "
                "prompts); with --model ordinal 94 to 96 %."
            )
    for facet in fitted.facets.values():
        extreme = [each.name for each in facet.elements if each.extreme]
        what = word if facet.name == "judge" else facet.name
        if extreme:
            yield (
                f"All ratings are at one end of the scale of {counted(len(extreme), what)}: "
                f"{first_of(extreme, _NAMED)}; their location is that of the bias reduction"
                f"{', without an interval' if facet.name == 'system' else ''}."
            )
        if len(facet.subsets) > 1:
            yield (
                f"Ratings do not link {len(facet.subsets):,} subsets of {what}s: they can be "
                "compared within a subset only."
            )
