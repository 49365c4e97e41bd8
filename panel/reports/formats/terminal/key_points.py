"""Key points of rationales, in the terminal."""

from __future__ import annotations

from itertools import groupby

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from persona_panel.experiments.keypoints.report import OTHER, KeyPointReport, key_points_conclusion
from persona_panel.reports.formats.terminal.rows import show_conclusion
from persona_panel.results.cells import FigureText, interval_cell, p_cell, value_cell
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.console import TableRow, legible, show_table
from persona_panel.statistics.core.display import number
from persona_panel.statistics.sources import GroupShare

_STANCES = {"pro": "for the text", "con": "against the text"}
_QUOTED = 2


def show_key_points(report: KeyPointReport, console: Console) -> None:
    """The conclusion, how often each key point is made, of which systems, by whom, and quotations;
    then differences that are established."""
    show_conclusion(key_points_conclusion(report), console)
    console.print()
    if not report.key_points:
        return
    show_table(
        console,
        f"Key points of {counted(report.read, 'rationale')}, by {legible(report.model)}",
        ["stance", "key point"],
        ["rationales", "share", "95 % interval,\nover prompts"],
        [
            TableRow(
                one.text,
                [
                    Text(str(one.share.n)),
                    value_cell(one.share.share),
                    interval_cell(one.share.ci_low, one.share.ci_high),
                ],
                _STANCES[one.stance],
            )
            for one in report.key_points
        ],
    )
    _show_by(report, "system", "Share of rationales that make each key point, by system", console)
    _show_by(report, "persona", "By persona of the judge", console)
    if len({one.group for one in report.shares["model"]}) > 1:
        _show_by(report, "model", "By model of the judge", console)
    _show_pro(report, console)
    _show_differences(report, console)
    _show_quotations(report, console)


def _show_by(report: KeyPointReport, kind: str, title: str, console: Console) -> None:
    shares = report.shares[kind]  # type: ignore[index]
    groups = list(dict.fromkeys(one.group for one in shares))
    by_place = {(one.group, one.feature): one for one in shares}
    show_table(
        console,
        title,
        ["stance", "key point"],
        [legible(group) for group in groups],
        [
            TableRow(
                one.text,
                [_share_cell(by_place[group, place]) for group in groups],
                _STANCES[one.stance],
            )
            for place, one in enumerate(report.key_points)
        ],
    )


def _share_cell(one: GroupShare) -> FigureText:
    return FigureText(number(one.share), value=one.share, low=one.ci_low, high=one.ci_high)


def _show_pro(report: KeyPointReport, console: Console) -> None:
    show_table(
        console,
        "Points for the text, of all points",
        ["system"],
        ["points", "share", "95 % interval"],
        [
            TableRow(
                one.group,
                [
                    Text(str(one.of)),
                    value_cell(one.share),
                    interval_cell(one.ci_low, one.ci_high),
                ],
            )
            for one in report.pro["system"]
        ],
    )


def _show_differences(report: KeyPointReport, console: Console) -> None:
    shown = [one for one in report.differences if one.shown]
    if not shown:
        return
    lines = [
        TableRow(
            f"{one.a} − {one.b}",
            [
                value_cell(one.difference),
                interval_cell(one.ci_low, one.ci_high),
                p_cell(one.p_adjusted),
            ],
            report.key_points[one.feature].text,
        )
        for one in sorted(shown, key=lambda one: one.feature)
    ]
    show_table(
        console,
        "Differences between systems that are established",
        ["key point", "systems"],
        ["difference", "95 % interval", "p, adjusted"],
        lines,
    )


def _show_quotations(report: KeyPointReport, console: Console) -> None:
    own = [one for one in report.key_points if one.text not in OTHER.values()]
    if not own:
        return
    console.print(Text("In the judges' words", "bold"))
    console.print()
    for stance, those in groupby(own, key=lambda one: one.stance):
        for one in those:
            console.print(Text(f"{legible(one.text)} ({_STANCES[stance]})"))
            for each in one.quotations[:_QUOTED]:
                where = f"{legible(each.system)}, {legible(each.prompt_id)}/{legible(each.id)}"
                told = Text(f'"{each.quote}" ({where}; {legible(each.judge)})', "dim")
                console.print(Padding(told, (0, 0, 0, 3), expand=False))
    console.print()
