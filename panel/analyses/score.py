"""A run as a result: the systems, how far they differ, who differs about them, what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from persona_panel.analyses.analysis import RunWithPeople, beside_people
from persona_panel.analyses.answers import answers_of, conclusion_of
from persona_panel.analyses.contested import Contested, contested_result, headline, most_contested
from persona_panel.analyses.judge_groups import labels_of_personas
from persona_panel.analyses.leaderboard_tables import (
    NO_MEAN,
    board_tables,
    labels_of_dimensions,
    strengths_tables,
    systems_in,
)
from persona_panel.analyses.methods import methods_of
from persona_panel.analyses.ranked_systems import (
    Ranked,
    ranking_of,
    reversal_sentence,
    reversed_pairs_of,
    winner_of,
)
from persona_panel.analyses.who_differs import who_differs
from persona_panel.files.named_files import shown_folder
from persona_panel.files.outputs import version_of
from persona_panel.files.responses import Batch
from persona_panel.graphs import Verdict
from persona_panel.planning.panel_plan import PanelPlan
from persona_panel.results.conclusions.score import missing_table, on_missing
from persona_panel.results.conclusions.wording import first_lower, origin_sentences
from persona_panel.results.requirement import written
from persona_panel.results.result import Result, answers_table
from persona_panel.results.table import Column, Key, Table
from persona_panel.rubrics import Usage, is_comparative
from persona_panel.runs.run import Run
from persona_panel.runs.run_remarks import (
    call_tables,
    counts_sentence,
    coverage_tables,
    demonstration_notice,
    lacking_tables,
    run_remarks,
    unfenced_notice,
)
from persona_panel.runs.scale_limits import unit_of
from persona_panel.statistics.core.display import NONE, general, signed
from persona_panel.statistics.core.display import number as number_text
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.core.ranking import Leaderboard

if TYPE_CHECKING:
    from persona_panel.analyses.strata import SystemsBy
    from persona_panel.results.required_figures import Figure
    from persona_panel.statistics.core.table import Ratings

CORRECTED = "corrected_"
"""The beginning of the names of tables that are corrected by people's ratings."""
_RESPONSES_SHOWN = 12
"""From more responses on their ranks are in the full report, not in the short one."""
_RESPONSES_IN_FULL = 500
"""From more responses on their ranks are in verdicts.csv alone."""
_CONTESTED = 10
_CONTESTED_SHOWN = 3
_NAMED = 3
_OF_PANEL = "This figure is the panel's; people's ratings decide which system is best."
_AGAIN = {
    "failed": "failed",
    "skipped": "was skipped",
    "refused": "was refused",
    "truncated": "was cut off at the token limit",
    "unparsed": "could not be parsed",
}
_TRUNCATED = (
    "Truncated answers reached their token limit, also a higher one where caps, context window and "
    "provider allow it: set reasoning_tokens or the option max_tokens of the model."
)


def score_result(
    run: Run, strata: SystemsBy | None = None, people: RunWithPeople | None = None
) -> Result:
    """Return the result of a run; where nothing was scored, people see no tables.

    Args:
        strata: its systems within strata, to be shown, too.
        people: people's ratings beside it; those that the run has unless given.
    """
    people = beside_people(run) if people is None else people
    board, controls, report = run.leaderboard(), run.control_leaderboard(), run.deliberation()
    ranked = ranking_of(run, people)
    tables = _beside(ranked, board, board_tables(run, board), _strengths(run))
    if controls is not None:
        own = board_tables(run, controls, "control_", ", by judges without a persona")
        tables += _beside(ranked, controls, own)
    tables = [*_corrected(people), *tables, *_responses(run)]
    conclusion = conclusion_of(run, people)
    if run.coverage.scored:
        sentences, contested = _who_differs(run)
        conclusion += sentences
        tables += contested
    if report is not None:
        # Few panels deliberate.
        from persona_panel.analyses.deliberation import deliberation_tables

        tables += deliberation_tables(report, labels_of_dimensions(run))
    remarks = list(_on_what_is_there(run, people))
    if strata is not None:
        from persona_panel.analyses.strata import systems_by_result

        within = systems_by_result(strata, run)
        conclusion += within.conclusion
        tables += [replace(table, name=f"strata_{table.name}") for table in within.tables]
        remarks = [*within.remarks, *remarks]
    if not run.coverage.scored:
        tables = [replace(table, title="") for table in tables if table.programs]
    conclusion += demonstration_notice(*(judge.model for judge in run.judges))
    conclusion += [*unfenced_notice(run), *run.rubric.asked_in.notice]
    origin = None if people is None else people.people.origin
    return Result(
        "score",
        conclusion,
        [
            *tables,
            answers_table(answers_of(run, people)),
            *coverage_tables(run),
            *lacking_tables(run),
            *missing_table(run.missing_ratings()),
            _facts(run, people),
            *call_tables(run),
        ],
        remarks,
        methods_of(run, people) if run.coverage.scored else (),
        reading=[] if origin is None else origin_sentences(origin),
        source="" if run.folder is None else shown_folder(run.folder),
        coverage=run.coverage,
    )


def _corrected(people: RunWithPeople | None) -> Iterator[Table]:
    """Yield the systems' means corrected by people's ratings, beside the panel's."""
    if people is None or people.calibrated is None:
        return
    # What corrects takes long to import.
    from persona_panel.analyses.calibrate import calibrate_result

    for table in calibrate_result(people.calibrated, labels=people.dimensions).tables:
        yield replace(table, name=f"{CORRECTED}{table.name}")


def _beside(ranked: Ranked, board: Leaderboard, *tables: Iterable[Table]) -> list[Table]:
    """Return the tables of a leaderboard; where people's ratings lead, requirements on its figures
    say whose they are, and are not met of systems whose order people's ratings reverse."""
    if not ranked.basis:
        return [*chain(*tables)]
    pairs = reversed_pairs_of(board, ranked)

    def row_beside(table: Table, row: Mapping[str, Any]) -> Mapping[str, Any]:
        of = {row[key.name] for key in table.keys if key.name in ("a", "b", "system")}
        contradicting = [pair for pair in pairs if of <= {*pair}]
        if not (of and contradicting):
            return row
        a, b = contradicting[0]
        instead = [written("human_only", (a,)), written("answer", ("best",))]
        if ranked.corrected:
            instead = [written("corrected_difference", (a, b)), written("corrected", (a,))]
        why = f"{reversal_sentence([(a, b)])} Require {' or '.join(instead)}."
        return {**row, "contradicted": first_lower(why)}

    return [
        replace(table, caution=_OF_PANEL, rows=[row_beside(table, row) for row in table.rows])
        for table in chain(*tables)
    ]


def planned_score(plan: PanelPlan, batch: Batch, humans: Ratings | None = None) -> list[Figure]:
    """Return the figures that a run of a plan on a batch will have beside people's ratings, all
    undefined: their names."""
    from persona_panel.results.required_figures import result_figures

    run = Run.of(plan, batch)
    run.humans = humans
    return result_figures(score_result(run))


def _strengths(run: Run) -> Iterator[Table]:
    """Yield the Bradley-Terry strengths of systems that judges compare."""
    if not any(is_comparative(judge.elicitation) for judge in run.judges):
        return
    yield from strengths_tables(run.strengths(), list(systems_in(run, run.leaderboard())))


def _responses(run: Run) -> Iterator[Table]:
    """Yield the composite of each response and its rank within its prompt."""
    n = len(run.items)
    titles = {prompt: f"{prompt}: {title}" for prompt, title in run.titles.items()}
    columns = (
        Column("composite", "estimate", "composite", figure="response"),
        Column("n_judges", "whole", "judges", of="n_asked"),
        Column("majority", "text", "majority"),
        Column("n_asked", "whole"),
        Column("system", "text"),
        Column("rank", "whole"),
    )
    rows: list[dict[str, Any]] = [
        {
            "prompt_id": verdict.prompt_id,
            "id": verdict.id,
            "composite": _of_response(verdict.composite),
            "n_judges": verdict.n_judges,
            "majority": _majority(verdict) if run.categories else None,
            "n_asked": verdict.n_asked,
            "system": verdict.system,
            "rank": rank,
            "prompt": titles.get(verdict.prompt_id, verdict.prompt_id),
            "response": f"{NONE if rank is None else rank}. {verdict.system}/{verdict.id}",
        }
        for ranking in run.prompt_rankings().values()
        for rank, verdict in ranking
    ]
    if n <= _RESPONSES_IN_FULL:
        yield Table(
            "responses_by_prompt", (Key("prompt", "prompt"), Key("response", "rank, response")),
            columns, rows, "Responses by prompt", programs=False,
            when="always" if n <= _RESPONSES_SHOWN else "full",
        )  # fmt: skip
    known = {(row["prompt_id"], row["id"]) for row in rows}
    rows += [
        {**item._asdict(), "composite": _of_response(nan)}
        for item in run.items
        if (item.prompt_id, item.id) not in known
    ]
    yield Table("responses", (Key("prompt_id"), Key("id")), columns, rows)


def _of_response(composite: float) -> Estimate:
    return Estimate(composite, reason=NO_MEAN if isnan(composite) else None)


def _majority(verdict: Verdict) -> str:
    """Return what most judges chose on each dimension of categories; with a tie, what shares it."""
    sentences = []
    for summary in verdict.labels.values():
        most = max(summary.counts.values())
        first = [name for name, n in summary.counts.items() if summary.n and n == most]
        sentences.append(" = ".join(first) or NONE)
    return "; ".join(sentences)


def _who_differs(run: Run) -> tuple[list[str], list[Table]]:
    """Yield who sees responses otherwise, and the most contested; nothing of one judge."""
    if not run.rubric.numeric or not (sentences := who_differs(run)):
        return [], []
    of, names = contested_result(run, _CONTESTED), labels_of_personas(run)
    first = [each for each in most_contested(run, _CONTESTED_SHOWN) if each.established]
    named = [f"{headline(each)}: {_apart(each, names)}." for each in first]
    tables = [
        replace(
            table,
            name=f"contested_{table.name}",
            columns=tuple(replace(column, figure="") for column in table.columns),
            when="full",
        )
        for table in of.tables
    ]
    return [*sentences, *of.conclusion, *named], tables


def _apart(of: Contested, names: Mapping[str, str]) -> str:
    """Return the personas beyond noise; where none is, how far all differ."""
    if not of.named:
        return f"spread {number_text(of.spread)}, no persona by itself beyond noise"
    order = sorted(of.named, key=lambda persona: -abs(of.departures[persona]))
    those = [f"{names[name]} {signed(of.departures[name])}" for name in order[:_NAMED]]
    more = f" and {len(order) - _NAMED} more" if len(order) > _NAMED else ""
    return f"{', '.join(those)}{more}"


def _on_what_is_there(run: Run, people: RunWithPeople | None) -> Iterator[str]:
    """Yield what was judged and called, what is missing, what it cost, and where it is."""
    coverage = run.coverage
    if coverage.scored and len(run.items) > _RESPONSES_SHOWN and run.folder is not None:
        yield "Ranks and means of each response are in verdicts.csv."
    yield counts_sentence(run, coverage)
    yield from _cached_tokens(run)
    # Where nothing was scored the conclusion has it.
    for status, n in coverage.missing.items() if coverage.scored else ():
        why, n_alike = run.commonest_reason(status) or ("", n)
        alike = f"{n_alike:,} of them: " if n_alike < n else ""
        yield f"{n:,} judgments missing: {status}" + (f" ({alike}{why})" if why else "")
    yield from on_missing(
        run.missing_ratings(),
        run.leaderboard(),
        unit_of(run.rubric).after_number,
        people_lead=bool(ranking_of(run, people).basis),
    )
    yield from oddities(run)
    yield from run_remarks(run, below_answers=True)


def oddities(run: Run) -> Iterator[str]:
    """Yield what of the judgments is not as planned, but for those that are missing."""
    coverage = run.coverage
    if run.reliability and (n := sum(verdict.n_unreliable for verdict in run.verdicts)):
        at = run.reliability
        dimension = labels_of_dimensions(run)[at.dimension]
        yield (
            f"{n:,} judgments rate {dimension} below {general(at.at_least)}: they "
            "count as unreliable and are left out of the composite."
        )
    for status, n in coverage.revisions_failed.items():
        yield f"{n:,} judgments kept their earlier ratings: the re-rating {_AGAIN[status]}"
    if "truncated" in coverage.missing or "truncated" in coverage.revisions_failed:
        yield _TRUNCATED
    if coverage.reasons_missing:
        yield f"{coverage.reasons_missing:,} judges changed a rating and gave no reason"
    if coverage.partial:
        yield f"{coverage.partial:,} judgments scored on fewer comparisons than planned"


def _cached_tokens(run: Run) -> Iterator[str]:
    for inside, whence in (
        (False, "were read from the providers' prompt caches."),
        (True, "were kept from the last request by a model in this process."),
    ):
        used = [
            each for model, each in run.calls.spent.items() if model.startswith("local:") == inside
        ]
        spent = sum(used, Usage())
        if spent.cached:
            yield f"{spent.cached:,} of {spent.input:,} input tokens {whence}"


def _facts(run: Run, people: RunWithPeople | None) -> Table:
    """Return what the run was, for programs."""
    columns: tuple[Column, ...] = (
        Column("winner", "text"), Column("winner_p", "number"), Column("random", "text"),
        Column("seed", "whole"), Column("version", "text"), Column("elapsed_s", "number"),
    )  # fmt: skip
    winner = winner_of(run, ranking_of(run, people))
    facts = {
        "winner": winner and winner.system, "winner_p": winner and winner.p,
        "random": run.random, "seed": run.seed, "version": version_of("persona-panel"),
        "elapsed_s": round(run.elapsed_s, 3),
    }  # fmt: skip
    return Table("run", (), columns, [facts])
