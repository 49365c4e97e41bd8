"""The result of `plan`: what the present design gives and what would narrow it, the variance
components and other designs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, isnan, nan, prod
from typing import Any

from persona_panel.analyses.select import prompts_for_people
from persona_panel.results.conclusions.wording import counted, origin_sentences
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, row_of
from persona_panel.runs.design import DesignReport, PrecisionTarget
from persona_panel.runs.scale_limits import SHARES_OF_WIDTH
from persona_panel.statistics.core.arrays import Reason
from persona_panel.statistics.core.display import ALL, percent
from persona_panel.statistics.core.display import small_number as _small
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.core.jackknife import LEAST_JUDGES
from persona_panel.statistics.designs import (
    GROUP,
    ITEM,
    LEAST_SAMPLED,
    RATER,
    SYSTEM,
    DesignStudy,
    design_name,
)
from persona_panel.statistics.generalizability import LEAST_DF, PROMPT, REPLICATE, RESIDUAL, DStudy

_WORDS = {ITEM: "response", SYSTEM: "system"}
_PRESENT = "present design"
_IF_TRUE = (
    "This assumes that these variance components, and the difference, are the true ones. The "
    "number of prompts by which a run says that the best system would be shown does not. The "
    "cheapest of many designs tends to be one whose error was underestimated by chance, so plan "
    "for more."
)
_NO_FORECAST = "too few conditions or degrees of freedom for a forecast"
_OF_STUDY = Key("measured"), Key("dimension"), Column("error_as_rated", "number")
_FIGURES = (
    "absolute_error", "relative_error", "dependability", "generalizability", "half_width",
    "detectable_difference",
)  # fmt: skip


def plan_result(report: DesignReport, *, source: str = "") -> Result:
    """Return the result of a report: systems before responses; the composite, or the first
    dimension where there is none; then the same of people, where they rated.

    Args:
        source: what the run is called.
    """
    people = report.people
    reports = [("", report)] if people is None else [("", report), ("People: ", people)]
    reached = {
        whose: [f"{whose}{line}" for line in _reached(each, each.target)]
        for whose, each in reports
        if each.target is not None
    }
    # What was asked is answered first: in short little else may fit on the screen.
    conclusion = [lines[0] for lines in reached.values()]
    if any(each.cheapest is not None for _, each in reports):
        conclusion.append(_IF_TRUE)
    for whose, each in reports:
        own = (*each.warnings(), *(_conclusion(each, study) for study in _shown(each)))
        conclusion += [f"{whose}{sentence}" for sentence in own]
        conclusion += reached.get(whose, [])[1:]
    tables, remarks = list(_tables(report, "")), _remarks(report)
    if people is not None:
        tables += _tables(people, "people")
        remarks += [f"Human ratings: {each}" for each in _remarks(people) if each not in remarks]
    return Result(
        "plan",
        conclusion,
        tables,
        remarks,
        reading=origin_sentences(people.origin) if people and people.origin else [],
        source=source,
        coverage=report.coverage,
    )


def _shown(report: DesignReport) -> list[DesignStudy]:
    return [study for kind in (SYSTEM, ITEM) if (study := report.main(kind)) is not None]


def _tables(report: DesignReport, whose: str) -> Iterator[Table]:
    """Return components and designs of systems, of responses, and figures for programs."""
    before, prefix = (f"{whose}_", "People: ") if whose else ("", "")
    studies = {
        kind: [study for study in report.studies if study.measured == kind]
        for kind in (SYSTEM, ITEM)
    }
    for kind, those in studies.items():
        if those:
            yield from _components(before, prefix, kind, those)
    for kind, those in studies.items():
        if those:
            yield _designs(before, prefix, kind, those, report)
    yield Table(
        f"{before}precision",
        (
            Key("measured", optional={next(iter(report.studies)).measured}),
            Key("dimension", optional={study.dimension for study in _shown(report)}),
        ),
        (
            *(Column(name, "estimate", figure=f"{before}{name}") for name in _FIGURES),
            Column("error_as_rated", "number"),
        ),
        [
            row_of(study, _OF_STUDY)
            | {
                name: Estimate(value, exact=True, reason=_why(study, name))
                for name, value in _figures(study.designs[0] if study.designs else None).items()
            }
            for study in report.studies
        ],
    )
    yield _target(before, report)
    ratings = (
        Column("n_systems", "whole"),
        Column("deliberated", "flag"),
        Column("warnings", "texts"),
    )
    rows = [row_of(report, ratings, warnings=tuple(report.warnings()))]
    yield Table(f"{before}ratings", (), ratings, rows)


def _why(study: DesignStudy, figure: str) -> str:
    """Return why a figure of the present design is undefined, where it is."""
    if study.measured == ITEM and figure in _FIGURES[-2:]:
        return "it is of systems alone"
    return str(study.reason or _NO_FORECAST)


def _components(
    before: str, prefix: str, kind: str, studies: Sequence[DesignStudy]
) -> Iterator[Table]:
    """Return all components for programs; for people those that were identified."""
    keys = (Key("dimension", "dimension"), Key("component", "component"))
    columns = (
        Column("variance", "number", "variance", digits=3, small=True),
        Column("share", "number", "share of\nvariance", digits=3),
        Column("error_share", "number", "share of the\nmean's error", digits=3),
        Column("reason", "text"),
    )
    rows: list[dict[str, Any]] = [
        {
            "dimension": study.dimension,
            "component": name,
            "variance": variance,
            "share": study.components.shares[name],
            "error_share": study.designs[0].error_shares.get(name) if study.designs else None,
            "reason": str(study.reason or study.components.unidentified.get(name) or "") or None,
        }
        for study in studies
        for name, variance in study.components.variances.items()
    ]
    yield Table(f"{before}{kind}_components", keys, columns, rows)
    yield Table(
        f"{before}{kind}_components_shown",
        keys,
        columns,
        [row for row in rows if not isnan(row["variance"])],
        f"{prefix}Variance components of {_WORDS[kind]}s' scores",
        short={"dimension": {studies[0].dimension}},
        programs=False,
    )


def _designs(
    before: str, prefix: str, kind: str, studies: Sequence[DesignStudy], report: DesignReport
) -> Table:
    rows = [
        {
            "dimension": study.dimension,
            "kind": _PRESENT if place == 0 else "half or twice as many",
            "design": "×".join(f"{n:,}" for n in result.levels.values()),
        }
        | _design(study, result, report)
        for study in studies
        for place, result in enumerate(study.designs)
    ]
    facets = list(
        dict.fromkeys(
            name for study in studies for result in study.designs for name in result.levels
        )
    )
    ratings = "ratings" if report.cost is None else "calls"
    of = "all systems" if kind == SYSTEM else "one response"
    return Table(
        f"{before}{kind}_designs",
        (
            Key("dimension", "dimension"),
            Key("kind", "designs"),
            Key("design", " ×\n".join(f"{facet}s" for facet in facets)),
        ),
        _design_columns(facets, rows, ratings, forecast=kind == SYSTEM),
        rows,
        f"{prefix}Precision of a {_WORDS[kind]}'s mean, by design; {ratings} for {of}",
        short={"dimension": {studies[0].dimension}},
    )


def _design_columns(
    facets: Sequence[str], rows: Sequence[Mapping[str, Any]], ratings: str, *, forecast: bool
) -> tuple[Column, ...]:
    """Return the columns of designs; forecasts are shown of systems alone, costs if known."""
    priced = any(row["usd"] for row in rows)
    return (
        *(Column(facet, "whole") for facet in facets),
        Column("n_ratings", "whole"),
        Column("calls", "whole", ratings),
        Column("usd", "number", "US\ndollars" if priced else ""),
        Column("absolute_error", "number", "SE,\nabs.", small=True),
        Column("relative_error", "number", "SE,\nrel.", small=True),
        Column("dependability", "number", "Φ"),
        Column("generalizability", "number", "Eρ²"),
        Column("half_width", "number", "95 %\n±" if forecast else "", small=True),
        Column("detectable_difference", "number", "detects" if forecast else "", small=True),
    )


def _design(study: DesignStudy, result: DStudy, report: DesignReport) -> dict[str, Any]:
    return {
        **result.levels,
        "n_ratings": result.n_ratings,
        "calls": report.calls(study.measured, result),
        "usd": report.usd(study.measured, result),
        **_figures(result),
    }


def _figures(result: DStudy | None) -> dict[str, float]:
    if result is None:
        return dict.fromkeys(_FIGURES, nan)
    values = (
        result.absolute_error, result.relative_error, result.dependability,
        result.generalizability, result.width / 2, result.detectable,
    )  # fmt: skip
    return dict(zip(_FIGURES, values, strict=True))


def _target(before: str, report: DesignReport) -> Table:
    """Return the designs that reach what was wanted, for programs; no rows where nothing was."""
    systems, target = report.main(SYSTEM), report.target
    rows = []
    if target is not None and systems is not None:
        wanted = {"kind": target.kind, "wanted": target.points, "fewest_sampled": LEAST_SAMPLED}
        designs = {"with_these_judges": report.with_these_judges, "cheapest": report.cheapest}
        rows = [
            {"design": name, **wanted} | _design(systems, result, report)
            for name, result in designs.items()
            if result is not None
        ]
    columns = _design_columns(list(_present(report)), rows, "", forecast=False)
    return Table(
        f"{before}target",
        (Key("design"),),
        (
            Column("kind", "text"),
            Column("wanted", "number"),
            Column("fewest_sampled", "whole"),
            *columns,
        ),
        rows,
    )


def _conclusion(report: DesignReport, study: DesignStudy) -> str:
    """Say what the present design gives, and which twice as many would narrow most."""
    of = "" if study.dimension == ALL else f" ({study.dimension})"
    mean = f"A {_WORDS[study.measured]}'s mean{of}"
    if study.reason is not None:
        return f"{mean}: its precision cannot be estimated ({study.reason})."
    present, *others = study.designs
    error = f"{_small(present.absolute_error)}{_unit(report)}"
    text = f"{mean} has a standard error of {error} with {_listed(present)}"
    if study.in_turn is not None and study.measured == SYSTEM:
        facet, _, n = study.in_turn
        text = (
            f"{mean} has a standard error of {_small(study.error_as_rated)}{_unit(report)} as it "
            f"was rated, by {n} {facet}s in turn; with {_listed(present)} who rate every response "
            f"it would have one of {error}"
        )
    if not isnan(present.width):
        text += (
            f", and a 95 % interval over prompts and {_raters(report)} of about "
            f"±{_small(present.width / 2)}"
        )
    text += "."
    largest = [(name, share) for name, share in present.error_shares.items() if share >= 0.1][:3]
    if largest:
        shares = [f"{name} ({percent(share)})" for name, share in largest]
        text += f" Its error comes most from {', '.join(shares)}."
    size = prod(present.levels.values())
    doubled = [other for other in others if prod(other.levels.values()) == 2 * size]
    if doubled:
        best = min(doubled, key=lambda entry: entry.absolute_error)
        text += (
            f" Twice the {_changed(present, best)}s would lower it most, to "
            f"{_small(best.absolute_error)}"
        )
        # More of what there are few of brings degrees of freedom, too, which no standard error has.
        narrowest = min(
            (item for item in doubled if not isnan(item.width)), key=_width, default=best
        )
        if not isnan(present.width) and _width(narrowest) < _width(best):
            text += (
                f"; twice the {_changed(present, narrowest)}s would narrow the interval most, to "
                f"±{_small(narrowest.width / 2)}"
            )
        text += "."
    return text


def _changed(present: DStudy, other: DStudy) -> str:
    """Say of which facet another design has more, or fewer, than the present one."""
    levels = present.levels
    return next(name for name, n in other.levels.items() if n != levels[name])


def _width(result: DStudy) -> float:
    return inf if isnan(result.width) else result.width


def _raters(report: DesignReport) -> str:
    """Return what those who rate are called; groups, where raters of a group count as one."""
    study = report.main(ITEM)
    levels = {} if study is None else study.components.levels
    if GROUP in levels:
        return "groups"
    return "raters" if RATER in levels else "judges"


def _unit(report: DesignReport) -> str:
    """Return the words that follow a standard error; nothing where means are shares."""
    return " points" if report.in_points else ""


def _listed(result: DStudy) -> str:
    *first, last = design_name(result.levels).split(" x ")
    return f"{', '.join(first)} and {last}" if first else last


def _reached(report: DesignReport, target: PrecisionTarget) -> list[str]:
    unit = SHARES_OF_WIDTH.after_number if report.rescaled else _unit(report)
    size = f"{target.points:g}{unit}"
    wanted = (
        f"An interval of a system's mean of ±{size}"
        if target.kind == "half_width"
        else f"Detecting a difference of {size} between two systems (80 % power)"
    )
    raters = _raters(report)
    if report.cheapest is None:
        return [f"{wanted} is not to be expected from any number of prompts and {raters} tried."]
    few = _too_few(report)
    tried = f"with at least {LEAST_SAMPLED} {_either(few)}" if few else "of the designs tried"
    lines = [f"{wanted} takes about {_costed(report, report.cheapest)}, the cheapest {tried}."]
    if report.with_these_judges is None:
        lines.append(
            f"With the present {raters} no number of prompts reaches it: its interval is over "
            f"{raters}, too{_too_few_for_an_interval(report)}."
        )
    elif report.with_these_judges != report.cheapest:
        costed = _costed(report, report.with_these_judges)
        levels = report.with_these_judges.levels
        which = f" ({' and '.join(counted(levels[item], item) for item in few)})" if few else ""
        lines.append(f"With the present {raters}{which} it takes about {costed}.")
    levels = report.cheapest.levels
    sampled = [
        facet
        for facet, n in levels.items()
        if facet not in (PROMPT, REPLICATE) and n >= LEAST_SAMPLED
    ]
    kept = [facet for facet in sampled if levels[facet] == LEAST_SAMPLED or facet in few]
    if kept:
        lines.append(
            f"Fewer than {LEAST_SAMPLED} {_either(kept)} are not "
            f"tried: an interval that speaks for other {kept[0]}s, too, takes several, even where "
            "their variance is estimated as 0. What one alone would give, a run with one says."
        )
    return lines + prompts_for_people(levels[PROMPT])


def _too_few(report: DesignReport) -> list[str]:
    """Return facets of which the present, maybe cheaper, design has fewer than those tried."""
    return [
        facet
        for facet, n in _present(report).items()
        if facet not in (PROMPT, REPLICATE) and 1 < n < LEAST_SAMPLED
    ]


def _present(report: DesignReport) -> Mapping[str, int]:
    study = report.main(SYSTEM)
    return study.designs[0].levels if study is not None and study.designs else {}


def _too_few_for_an_interval(report: DesignReport) -> str:
    """Say that the present raters are fewer than an interval over them needs; nothing else."""
    n_raters = prod(n for facet, n in _present(report).items() if facet not in (PROMPT, REPLICATE))
    return f", of whom it needs at least {LEAST_JUDGES}" if n_raters < LEAST_JUDGES else ""


def _either(facets: Sequence[str]) -> str:
    return " or ".join(f"{facet}s" for facet in facets)


def _costed(report: DesignReport, result: DStudy) -> str:
    what = "ratings" if report.cost is None else "calls"
    text = f"{_listed(result)}: {report.calls(SYSTEM, result):,} {what}"
    if (usd := report.usd(SYSTEM, result)) is not None:
        text += f", ${usd:,.2f}"
    return f"{text} for {counted(report.n_systems, 'system')}"


def _remarks(report: DesignReport) -> list[str]:
    """Say how to read it, and what cannot be concluded."""
    studies = [study for study in _shown(report) if study.reason is None]
    in_points = f" in{unit}" if (unit := _unit(report)) else ""
    lines = [
        f"SE: the standard error of a mean{in_points}, absolute (of the mean itself) and relative "
        "(of its distance from others; rankings rest on it). Φ and Eρ²: the share of the variance "
        "of means that is not absolute, or relative, error."
    ]
    if any(study.measured == SYSTEM for study in studies):
        raters = _raters(report)
        few = "prompts" if raters != "judges" else "models"
        one_model = ", or one model where the run has several" if raters == "judges" else ""
        lines.append(
            f"±: half the width of the 95 % interval over prompts and {raters} that can be "
            f"expected of a system's mean. It is mostly more than twice the SE, most so with few "
            f"{few}: by Student's t of few degrees of freedom, and as each rating counts in the "
            f"variance over prompts and in that over {raters}. Detects: the difference of two "
            "systems whose interval leaves 0 out in 80 % of runs (of several differences, each "
            "must be larger, as p-values are adjusted). – where there is none (fewer than five "
            f"{raters}{one_model}; a difference that the scale does not allow), or with fewer than "
            f"{LEAST_DF} degrees of freedom (Satterthwaite), as often of two {few}, with which "
            "widths differ too much from run to run to be forecast."
        )
    single: dict[str, list[str]] = {}
    for study in studies:
        for name, why in study.components.unidentified.items():
            if why is Reason.ONE_LEVEL and study.components.levels.get(name) == 1:
                single.setdefault(name, []).append(_WORDS[study.measured])
            elif why is Reason.IN_RESIDUAL:
                lines.append(
                    f"{_WORDS[study.measured].capitalize()}s: no cell has several ratings, so that "
                    f"{RESIDUAL} includes {name}; what replicates would bring is not known."
                )
    for name in single:
        lines.append(
            f"One {name} only: its variance cannot be separated from the rest. The figures are for "
            f"this {name} as it is and say nothing of others."
        )
    if any(variance < 0 for study in studies for variance in study.components.variances.values()):
        lines.append("Components below 0 are estimates of values near 0 and count as 0.")
    for study in studies:
        levels = [f"{n:,} {name}s" for name, n in study.components.levels.items() if n > 1]
        lines.append(
            f"The components of {_WORDS[study.measured]}s rest on {', '.join(levels)}: those of "
            "few are rough, and have no intervals, as none that was tried covers."
        )
    if report.deliberated:
        lines.append(
            "Judges saw each other's ratings, which are therefore not independent: the errors are "
            "too small."
        )
    return lines
