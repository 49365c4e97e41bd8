"""The effects of deliberation, as tables and sentences of a run's result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import inf, isnan, nan
from typing import Any

import numpy as np

from persona_panel.results.conclusions.rows import left_out_of, short_ids, sign_of
from persona_panel.results.conclusions.wording import counted, in_brackets, listed, p_adjusted
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, row_of
from persona_panel.runs.deliberation import DeliberationReport
from persona_panel.runs.run import Run
from persona_panel.statistics.core.arrays import Reason, Statistic
from persona_panel.statistics.core.display import ALL, number
from persona_panel.statistics.core.estimate import LEVEL, Estimate
from persona_panel.statistics.core.means import items_needed, widened
from persona_panel.statistics.peers import Influence
from persona_panel.statistics.revisions import Change, Direction, TowardHumans

_JUDGES_SHOWN = 10
_PERSONAS_SHOWN = 12
_ALL = "all"
_INFLUENCE = (
    "How far row personas moved toward (+) or away from (−) column personas: of the changed "
    "ratings, the share that moved closer less the share that moved farther, from -1 to 1."
)
_BEFORE_AFTER = (
    Column("before", "number", "mean before"),
    Column("after", "number", "after"),
    Column("n_moved", "whole", "changed", of="n"),
    Column("n", "whole"),
)
_SENTENCES = {
    Direction.TOWARD: "Deliberation moved the panel toward people on {names}{facts}.",
    Direction.AWAY: "Deliberation moved the panel away from people on {names}{facts}.",
    Direction.DIVIDED: "Deliberation moved the panel toward people by one measure and away "
    "from them by the other on {names}{facts}.",
    Direction.ITSELF: "On {names} judges differ less after deliberation, and no change of their "
    "agreement with people is shown.",
    Direction.NONE: "On {names} no change by deliberation is shown, which does not show that "
    "there is none.",
    Direction.UNKNOWN: "Whether deliberation moved the panel toward people on {names} is "
    "not known: {why}.",
}


def deliberation_result(run: Run) -> Result:
    """Return what deliberation did to a run whose judges deliberated.

    Raises:
        InputError: its people's ratings share no response or no dimension with it.
    """
    report = run.deliberation()
    if report is None:
        return Result("deliberation", (), ())
    sentences = deliberation_conclusion(
        report.n_deliberated, report.n_responses, report.spread, report.humans
    )
    labels = {dimension.id: dimension.label for dimension in run.rubric.dimensions}
    return Result("deliberation", sentences, [*deliberation_tables(report, labels)])


def deliberation_tables(report: DeliberationReport, labels: Mapping[str, str]) -> Iterator[Table]:
    """Yield what changed, toward whom, what it did to the rankings, and whether it brought the
    panel closer to the human ratings; for programs alone where nobody deliberated. `labels` are of
    dimensions, by their ids."""
    n = report.n_deliberated
    row = {
        "deliberated": Estimate(n, exact=True, detail=f"of {report.n_responses:,} responses"),
        "n_responses": report.n_responses,
    }
    columns = (
        Column("deliberated", "estimate", figure="deliberated"),
        Column("n_responses", "whole"),
    )
    yield Table("deliberation", (), columns, [row])
    shown, moves = bool(n), bool(report.conformity["all"].n_moves)
    yield _dimensions(report, labels, "Deliberation: before and after" if shown else "")
    yield _conformity(report, shown and moves)
    yield from _influence(report.influence, shown and moves)
    yield _judges(report, shown and moves)
    yield from _rankings(report, shown)
    if report.humans is not None:
        yield _people(report.humans, labels, shown)


def _dimensions(report: DeliberationReport, labels: Mapping[str, str], title: str) -> Table:
    columns = (
        *_BEFORE_AFTER,
        Column("change", "estimate", figure="mean_change"),
        Column("spread_before", "number", "spread of\njudges before"),
        Column("spread_after", "number", "after"),
        Column("spread_change", "estimate", "change\nof spread", signed=True,
               figure="spread_change"),
        Column("n_responses", "whole"),
    )  # fmt: skip
    rows = [
        {
            **row_of(means, _BEFORE_AFTER),
            "dimension": name,
            "change": Estimate(means.value, reason=means.reason),
            "spread_before": report.spread[name].before,
            "spread_after": report.spread[name].after,
            "spread_change": _change(report.spread[name]),
            "n_responses": report.spread[name].n_items,
        }
        for name, means in report.dimensions.items()
    ]
    moves, of = (
        report.conformity["all"].n_moves,
        sum(dimension.n or 0 for dimension in report.dimensions.values()),
    )
    remark = (
        f"{report.n_deliberated:,} of {report.n_responses:,} responses were deliberated; {moves:,} "
        f"of {of:,} ratings changed by half a step or more."
    )
    return Table("deliberated_dimensions", (_dimension(labels),), columns, rows, title,
                 chart="spread_change", remarks=[remark])  # fmt: skip


def _dimension(labels: Mapping[str, str]) -> Key:
    return Key("dimension", "dimension", {ALL}, labels)


def _change(change: Change) -> Estimate:
    return change if change.has_interval else replace(change, n=None, df=nan)


def _share(share: Statistic) -> Estimate:
    return Estimate(share.value, n=share.n_items, reason=share.reason)


def _conformity(report: DeliberationReport, is_shown: bool) -> Table:
    columns = (
        Column("n_moves", "whole", "total"),
        Column("n_toward", "whole", "toward"),
        Column("n_away", "whole", "away"),
        Column("n_undefined", "whole", "neither"),
        Column("share", "estimate", "share\ntoward"),
    )
    kinds = {
        "stated": report.conformity["stated"],
        "unstated": report.conformity["unstated"],
        _ALL: report.conformity["all"],
    }
    labels = {"stated": "with a stated reason", "unstated": "without one"}
    rows = [
        row_of(each, columns, changes=kind, share=_share(each.share))
        for kind, each in kinds.items()
    ]
    title = "Changed ratings: toward or away from the mean of the other judges"
    of = Key("changes", "changes", labels=labels)
    return Table("conformity", (of,), columns, rows, title if is_shown else "")


def _influence(influence: Influence, is_shown: bool) -> Iterator[Table]:
    """Yield who moved whom: all for programs; for people pairs, or the most influential of many."""
    people = list(enumerate(influence.personas))
    cells = {(i, j): influence.net(i, j) for i, _ in people for j, _ in people}
    pulls = {place: influence.net(slice(None), place) for place, _ in people}
    columns: tuple[Column, ...] = (
        Column("nearer", "whole"), Column("farther", "whole"), Column("n", "whole"),
        Column("net", "estimate"),
    )  # fmt: skip
    rows: list[dict[str, Any]] = [
        {
            "moved": moved, "by": by, "nearer": int(influence.nearer[i, j]),
            "farther": int(influence.farther[i, j]), "n": int(influence.n[i, j]),
            "net": _share(cells[i, j]),
        }
        for i, moved in people
        for j, by in people
    ]  # fmt: skip
    yield Table("influence", (Key("moved"), Key("by")), columns, rows)
    many = is_shown and len(people) > _PERSONAS_SHOWN
    order = sorted(people, key=lambda person: -np.nan_to_num(pulls[person[0]].value, nan=-inf))
    columns = (
        Column("net", "estimate", "influence\non all", signed=True),
        Column("n", "whole", "changes"),
    )
    shown = {name for _, name in order[:_PERSONAS_SHOWN]}
    rows = [
        {"persona": name, "net": _share(pulls[place]), "n": pulls[place].n_items}
        for place, name in order
    ]
    yield Table(
        "pull", (Key("persona", "persona"),), columns, rows,
        "Influence between personas" if many else "", short={"persona": shown},
        remarks=[_INFLUENCE],
    )  # fmt: skip
    if not is_shown or many:
        return
    labels = {name: f"{place + 1} {name}" for place, name in people}
    heads = tuple(Column(f"c{place}", "number", f"{place + 1}", signed=True) for place, _ in people)
    rows = [
        {"persona": name, **{f"c{j}": cells[i, j].value for j, _ in people}} for i, name in people
    ]
    rows.append({"persona": _ALL, **{f"c{j}": pulls[j].value for j, _ in people}})
    yield Table(
        "influence_matrix", (Key("persona", "persona", labels=labels),), heads, rows,
        "Influence between personas", remarks=[_INFLUENCE], programs=False,
    )  # fmt: skip


def _judges(report: DeliberationReport, is_shown: bool) -> Table:
    """Each judge's mean before and after; people are shown those with most changed ratings."""
    order = sorted(
        report.judges.items(), key=lambda item: -item[1].n_moved / max(1, item[1].n or 0)
    )
    columns = (*_BEFORE_AFTER, Column("change", "number"))
    rows = [row_of(means, columns, judge=judge.id, change=means.value) for judge, means in order]
    ids = [judge.id for judge in report.judges]
    shown = {judge.id for judge, means in order[:_JUDGES_SHOWN] if means.n_moved}
    remarks = [left_out_of(ids)] if short_ids(ids) and left_out_of(ids) else []
    return Table(
        "deliberated_judges", (Key("judge", "judge", labels=short_ids(ids)),), columns, rows,
        "Judges with most changed ratings" if is_shown else "", short={"judge": shown},
        remarks=remarks,
    )  # fmt: skip


def _rankings(report: DeliberationReport, is_shown: bool) -> Iterator[Table]:
    """Yield what changed in the order of responses, for programs, and of systems."""
    of = report.rankings
    names = ("n_pairs", "n_swapped", "n_tied", "n_untied")
    columns = (
        *(Column(name, "whole") for name in names),
        Column("tau_b", "estimate"),
        Column("systems_tau_b", "estimate"),
    )
    inside = of.tau_b.mean
    tau = {"tau_b": _share(inside), "systems_tau_b": _share(of.systems_tau_b)}
    yield Table("reordering", (), columns, [row_of(of, columns, **tau)])
    text = (
        f"{of.n_swapped:,} of {of.n_pairs:,} pairs of responses to one prompt changed their order, "
        f"{of.n_tied:,} became ties, {of.n_untied:,} ties were broken"
    )
    text += "" if inside.reason else f"; τ_b before to after {number(inside.value)}"
    columns = (
        Column("rank_before", "whole", "rank before"),
        Column("rank_after", "whole", "after"),
        Column("before", "number", "composite\nbefore"),
        Column("after", "number", "after"),
    )
    rows = [row_of(system, columns, system=system.system) for system in of.systems]
    changed = len(of.reranked)
    yield Table(
        "deliberated_systems", (Key("system", "system"),), columns, rows,
        "Systems before and after deliberation" if is_shown else "",
        remarks=[f"{text}.", *([] if changed else ["No system changed its rank."])],
    )  # fmt: skip


def _people(humans: Mapping[str, TowardHumans], labels: Mapping[str, str], is_shown: bool) -> Table:
    heads = {"tau_c": "τ_c", "distance": "distance", "spread": "spread"}
    figures = {"tau_c": "human_tau_c_change", "distance": "human_distance_change"}
    columns: list[Column] = []
    for name, head in heads.items():
        columns += [
            Column(f"{name}_before", "number", f"{head}\nbefore"),
            Column(f"{name}_after", "number", "after"),
            Column(name, "estimate", f"change of\n{head}", signed=True, p="cell",
                   figure=figures.get(name, "")),
        ]  # fmt: skip
    columns += [
        Column("n_prompts", "whole", "prompts"),
        Column("direction", "text", "direction"),
        Column("reason", "text"),
    ]
    rows = []
    for dimension, human in humans.items():
        row = {"dimension": dimension, "n_prompts": human.n_prompts, "direction": human.direction,
               "reason": human.reason}  # fmt: skip
        changes = {"tau_c": human.tau_c, "distance": human.distance, "spread": human.spread}
        for name, change in changes.items():
            row |= {f"{name}_before": change.before, f"{name}_after": change.after}
            row |= {name: _change(change)}
        rows.append(row)
    why = {
        f"{labels.get(name, name)}: {human.direction} ({human.reason})."
        for name, human in humans.items()
        if human.reason
    }
    title = "Agreement with human ratings, and spread among judges, before and after"
    return Table("deliberated_people", (_dimension(labels),), tuple(columns), rows,
                 title if is_shown else "", chart="tau_c", remarks=sorted(why))  # fmt: skip


def deliberation_conclusion(
    n_deliberated: int,
    n_responses: int,
    spread: Mapping[str, Change],
    humans: Mapping[str, TowardHumans] | None,
) -> list[str]:
    """Return where deliberation led, by the adjusted tests of `toward_humans`; without people's
    ratings, on which dimensions the spread of judges changed.

    Args:
        spread: the change of the spread of judges, by dimension.
        humans: the panel compared with people before and after, by dimension; None: no ratings
            by people were given.
    """
    if not n_deliberated:
        return [f"None of {counted(n_responses, 'response')} was deliberated."]
    if humans is not None:
        return _directions(humans)
    return [
        *_spreads(spread),
        "Whether deliberation brought the panel closer to people is not known without ratings "
        "by people (--human).",
    ]


def _directions(humans: Mapping[str, TowardHumans]) -> list[str]:
    sentences = []
    for direction, sentence in _SENTENCES.items():
        names = [name for name, human in humans.items() if human.direction is direction]
        if not names:
            continue
        p = max(min(_p_values(humans[name]) or [1.0]) for name in names)
        why = dict.fromkeys(str(human) for name in names if (human := humans[name].reason))
        sentences.append(
            sentence.format(
                names=listed(names, "dimensions"),
                facts=in_brackets(f"largest {p_adjusted(p)}" if len(names) > 1 else p_adjusted(p)),
                why="; ".join(why) or "nothing can be compared",
            )
        )
    if any(human.reason is Reason.FEW_TO_TELL for human in humans.values()):
        n_tests = sum(len(_p_values(human)) for human in humans.values())
        sentences.append(
            f"A test takes at least {items_needed(LEVEL / max(1, n_tests))} deliberated prompts "
            "with ratings by people."
        )
    return sentences


def _p_values(human: TowardHumans) -> list[float]:
    p_values = human.tau_c.p_adjusted, human.distance.p_adjusted
    return [p for p in p_values if not isnan(p)]


def _spreads(spread: Mapping[str, Change]) -> list[str]:
    """Say where judges differ less or more, by intervals widened for all dimensions."""
    signs = {name: _sign(change, len(spread)) for name, change in spread.items()}
    sentences = [
        f"After deliberation judges differ {how} on {_named(names)} (intervals adjusted for "
        f"{counted(len(spread), 'dimension')})."
        for sign, how in ((-1, "less"), (1, "more"))
        if (names := [name for name, value in signs.items() if value == sign])
    ]
    if sentences:
        return sentences
    return ["Deliberation is not shown to have changed how far judges differ, on any dimension."]


def _named(names: Iterable[str]) -> str:
    return listed(list(names), "dimensions")


def _sign(change: Change, n_tests: int) -> int:
    if not change.has_interval:
        return 0
    return sign_of(widened(change.value, *change.ends, change.df, n_tests))
