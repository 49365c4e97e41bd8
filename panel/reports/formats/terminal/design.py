"""What `plan` prints: what the present design gives and what would narrow it, then the variance
components and other designs."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, inf, isnan, log10, prod

from rich.console import Console
from rich.text import Text

from persona_panel.reports.formats.terminal.rows import remark
from persona_panel.results.conclusions.ratings_to_collect import prompts_for_people
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.console import TableRow, legible, show_table
from persona_panel.runs.design import DesignReport, PrecisionTarget
from persona_panel.statistics.core.display import NONE, number, percent
from persona_panel.statistics.core.names import ALL
from persona_panel.statistics.core.statistic import Reason
from persona_panel.statistics.quality.components import RESIDUAL
from persona_panel.statistics.quality.d_study import LEAST_DF, PROMPT, REPLICATE
from persona_panel.statistics.quality.design_study import (
    GROUP,
    ITEM,
    LEAST_SAMPLED,
    RATER,
    SYSTEM,
    DesignResult,
    DesignStudy,
    design_name,
)

_LEAST = 1e-9
"""What is nearer to 0 is rounding."""
_WORDS = {ITEM: "response", SYSTEM: "system"}


def show_design(report: DesignReport, console: Console) -> None:
    """Systems before responses; the composite, or the first dimension where there is none. Then
    the same of people, where they rated."""
    _show(report, console, "")
    if report.people is not None:
        console.print(Text("Human ratings", "bold"))
        console.print()
        _show(report.people, console, "People: ")


def _show(report: DesignReport, console: Console, whose: str) -> None:
    studies = [study for kind in (SYSTEM, ITEM) if (study := report.main(kind)) is not None]
    for line in report.warnings():
        console.print(Text(line))
    for study in studies:
        console.print(Text(f"{whose}{_conclusion(report, study)}"))
    if report.target is not None:
        for line in _reached(report, report.target):
            console.print(Text(line))
    console.print()
    defined = [study for study in studies if study.reason is None]
    for study in defined:
        _show_components(report, study, console)
    for study in defined:
        _show_designs(report, study, console)
    for line in _remarks(report, defined):
        remark(console, line)


def _conclusion(report: DesignReport, study: DesignStudy) -> str:
    """What the present design gives, and which twice as many would narrow most."""
    mean = f"A {_WORDS[study.measured]}'s mean{_of(study)}"
    if study.reason is not None:
        return f"{mean}: its precision cannot be estimated ({study.reason})."
    present, *others = study.designs
    error = f"{_small(present.figures.absolute_error)}{_unit(report)}"
    told = f"{mean} has a standard error of {error} with {_listed(present)}"
    if study.in_turn is not None and study.measured == SYSTEM:
        facet, _, n = study.in_turn
        told = (
            f"{mean} has a standard error of {_small(study.error_as_rated)}{_unit(report)} as it "
            f"was rated, by {n} {facet}s in turn; with {_listed(present)} who rate every response "
            f"it would have one of {error}"
        )
    if not isnan(present.width):
        told += (
            f", and a 95 % interval over prompts and {_raters(report)} of about "
            f"±{_small(present.width / 2)}"
        )
    told += "."
    if largest := [name for name, share in (study.error_shares or {}).items() if share >= 0.1][:3]:
        shares = [f"{name} ({percent((study.error_shares or {})[name])})" for name in largest]
        told += f" Its error comes most from {', '.join(shares)}."
    size = prod(present.figures.levels.values())
    doubled = [one for one in others if prod(one.figures.levels.values()) == 2 * size]
    if doubled:
        best = min(doubled, key=lambda one: one.figures.absolute_error)
        told += (
            f" Twice the {_changed(present, best)}s would lower it most, to "
            f"{_small(best.figures.absolute_error)}"
        )
        # More of what there are few of brings degrees of freedom, too, which no standard error has.
        narrowest = min((one for one in doubled if not isnan(one.width)), key=_width, default=best)
        if not isnan(present.width) and _width(narrowest) < _width(best):
            told += (
                f"; twice the {_changed(present, narrowest)}s would narrow the interval most, to "
                f"±{_small(narrowest.width / 2)}"
            )
        told += "."
    return told


def _changed(present: DesignResult, other: DesignResult) -> str:
    """Of which facet another design has more, or fewer, than the present one."""
    levels = present.figures.levels
    return next(name for name, n in other.figures.levels.items() if n != levels[name])


def _width(result: DesignResult) -> float:
    return inf if isnan(result.width) else result.width


def _raters(report: DesignReport) -> str:
    """What those are called who rate: judges are personas through models; people are none. Where
    raters of a group count as one, groups are what is sampled."""
    study = report.main(ITEM)
    levels = {} if study is None else study.components.levels
    if GROUP in levels:
        return "groups"
    return "raters" if RATER in levels else "judges"


def _unit(report: DesignReport) -> str:
    """What follows a standard error; nothing where means are shares."""
    return " points" if report.in_points else ""


def _listed(result: DesignResult) -> str:
    *first, last = design_name(result.figures.levels).split(" x ")
    return f"{', '.join(first)} and {last}" if first else last


def _of(study: DesignStudy) -> str:
    return "" if study.dimension == ALL else f" ({legible(study.dimension)})"


def _reached(report: DesignReport, target: PrecisionTarget) -> list[str]:
    size = f"{target.points:g}{_unit(report)}"
    wanted = (
        f"An interval of a system's mean of ±{size}"
        if target.kind == "half_width"
        else f"Detecting a difference of {size} between two systems (80 % power)"
    )
    raters = _raters(report)
    if report.cheapest is None:
        return [f"{wanted} is not to be expected from any number of prompts and {raters} tried."]
    few = _too_few(report)
    lines = [
        f"{wanted} takes about {_costed(report, report.cheapest)}, the cheapest {_tried(few)}, if "
        "these variance components were the true ones: of many designs the cheapest is one that "
        "chance made look too precise, so plan for more."
    ]
    if report.with_these_judges is None:
        lines.append(f"With the present {raters} no number of prompts reaches it.")
    elif report.with_these_judges != report.cheapest:
        costed = _costed(report, report.with_these_judges)
        levels = report.with_these_judges.figures.levels
        which = f" ({' and '.join(counted(levels[one], one) for one in few)})" if few else ""
        lines.append(f"With the present {raters}{which} it takes about {costed}.")
    levels = report.cheapest.figures.levels
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
    """Of which facets the present design has several, and fewer than any design that is tried: it
    may then be cheaper than the cheapest of these."""
    study = report.main(SYSTEM)
    levels = {} if study is None else study.designs[0].figures.levels
    return [
        facet
        for facet, n in levels.items()
        if facet not in (PROMPT, REPLICATE) and 1 < n < LEAST_SAMPLED
    ]


def _tried(few: Sequence[str]) -> str:
    if few:
        return f"with at least {LEAST_SAMPLED} {_either(few)}"
    return "of the designs tried"


def _either(facets: Sequence[str]) -> str:
    return " or ".join(f"{facet}s" for facet in facets)


def _costed(report: DesignReport, result: DesignResult) -> str:
    told = f"{_listed(result)}: {_counted(report, report.calls(SYSTEM, result))}"
    if (usd := report.usd(SYSTEM, result)) is not None:
        told += f", ${usd:,.2f}"
    return f"{told} for {counted(report.n_systems, 'system')}"


def _counted(report: DesignReport, n: int) -> str:
    return f"{n:,} {'ratings' if report.cost is None else 'calls'}"


def _show_components(report: DesignReport, study: DesignStudy, console: Console) -> None:
    found = study.components
    shares = study.error_shares or {}
    show_table(
        console,
        f"Variance components of {_WORDS[study.measured]}s' scores{_of(study)}",
        ["component"],
        ["variance", "share of\nvariance", "share of the\nmean's error"],
        [
            TableRow(
                name,
                [
                    Text(_small(variance, 3)),
                    Text(_share(found.shares[name])),
                    Text(_share(shares[name]) if name in shares else ""),
                ],
            )
            for name, variance in found.variances.items()
            if not isnan(variance)
        ],
    )


def _small(value: float, digits: int = 2) -> str:
    """Points, or their squares, to so many digits after the point; of what is small so many that
    two of them say something: on a scale from 0 to 1 an error of 0.004 is not 0.00."""
    if isnan(value):
        return NONE
    if _LEAST < abs(value) < 10.0 ** (1 - digits):
        digits = 1 - floor(log10(abs(value)))
    return number(value, digits)


def _share(value: float) -> str:
    return NONE if isnan(value) else f"{number(100 * value, 1)} %"


def _show_designs(report: DesignReport, study: DesignStudy, console: Console) -> None:
    widths = study.measured == SYSTEM
    costs = [report.usd(study.measured, result) for result in study.designs]
    known = any(costs)
    facets = list(study.designs[0].figures.levels)
    columns = [
        "ratings" if report.cost is None else "calls",
        *(["US\ndollars"] if known else []),
        "SE,\nabs.",
        "SE,\nrel.",
        "Φ",
        "Eρ²",
        *(["95 %\n±", "detects"] if widths else []),
    ]
    lines = []
    for place, (result, usd) in enumerate(zip(study.designs, costs, strict=True)):
        figures = result.figures
        points = [figures.absolute_error, figures.relative_error]
        shares = [figures.dependability, figures.generalizability]
        reached = [result.width / 2, result.detectable] if widths else []
        cells = [
            f"{report.calls(study.measured, result):,}",
            *([f"{usd or 0:,.2f}"] if known else []),
            *map(_small, points),
            *map(number, shares),
            *map(_small, reached),
        ]
        label = "×".join(f"{n:,}" for n in figures.levels.values())
        heading = "present design" if place == 0 else "half or twice as many"
        lines.append(TableRow(label, [Text(cell) for cell in cells], heading))
    of = "all systems" if widths else "one response"
    show_table(
        console,
        f"Precision of a {_WORDS[study.measured]}'s mean{_of(study)}, by design; "
        f"{columns[0]} for {of}",
        ["", " ×\n".join(f"{facet}s" for facet in facets)],
        columns,
        lines,
    )


def _remarks(report: DesignReport, studies: list[DesignStudy]) -> list[str]:
    """How to read it, and what cannot be concluded."""
    in_points = f" in{unit}" if (unit := _unit(report)) else ""
    lines = [
        f"SE: the standard error of a mean{in_points}, absolute (of the mean itself) and relative "
        "(of its distance from others; rankings rest on it). Φ and Eρ²: the share of the variance "
        "of means that is not absolute, or relative, error."
    ]
    if any(study.measured == SYSTEM for study in studies):
        raters = _raters(report)
        few = "prompts" if raters != "judges" else "models"
        one_of = ", or one model where the run has several" if raters == "judges" else ""
        lines.append(
            f"±: half the width of the 95 % interval over prompts and {raters} that can be "
            f"expected of a system's mean. It is mostly more than twice the SE, most so with few "
            f"{few}: by Student's t of few degrees of freedom, and as each rating counts in the "
            f"variance over prompts and in that over {raters}. Detects: the difference of two "
            "systems whose interval leaves 0 out in 80 % of runs (of several differences, each "
            "must be larger, as p-values are adjusted). – where there is none (fewer than five "
            f"{raters}{one_of}; a difference that the scale does not allow), or with fewer than "
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
                    f"{RESIDUAL} includes {name}; what replicates would bring cannot be said."
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
    if report.composite:
        lines.append("--json has every dimension.")
    return lines
