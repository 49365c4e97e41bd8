"""The sections of a run's page, in the order in which a reader doubts: first those that hold the
evidence of the answers, each beginning with its answer; and the names of judges and dimensions on
it, by words where these are known."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf, isnan, nan
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from persona_panel.analyses.analysis import ANALYSES, RunWithPeople, command_on
from persona_panel.analyses.answers import conclusion_of
from persona_panel.analyses.contested import contested_result, ranked_responses
from persona_panel.analyses.leaderboard_tables import board_tables
from persona_panel.analyses.ranked_systems import ranking_of
from persona_panel.analyses.run_summary import SAYS_WHO_DIFFERS
from persona_panel.analyses.who_differs import who_differs_result
from persona_panel.calls.budget import CallCounts, Spending
from persona_panel.files.pages import seconds
from persona_panel.graphs import Judge
from persona_panel.models.config import cost
from persona_panel.results.conclusions.wording import (
    SAMPLES,
    counted,
    judged,
    on_scales,
    origin_sentences,
    spent,
)
from persona_panel.results.formats.html import section
from persona_panel.results.result import QUESTIONS, Result, RunAnswer
from persona_panel.results.table import Column, Key, Table, one_line
from persona_panel.rubrics import Rubric, Status
from persona_panel.runs.collected import ratings_of
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import mean_limits
from persona_panel.statistics.core.display import ALL, COMPOSITE
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.core.ranking import Leaderboard, SystemRank, rank_systems
from persona_panel.statistics.core.sampled_mean import JudgeSample
from persona_panel.statistics.core.table import Coverage

_CONTESTED, _UNESTABLISHED = 8, 3
_EVIDENCE = {"calibrate": "settle", "correlate": "people", "votes": "personas"}
"""The question for which an analysis beside people's ratings has the evidence; what others say
answers none of them, and has a section of its own."""
_REASONS = 12
_TICKS = 60
"""The most prompts whose means are drawn, of at most `_MARKED` systems."""
_MARKED = 6


class PageSection(NamedTuple):
    """A result with its title, what the navigation calls it, and what prints its figures.

    Attributes:
        full: with the tables of the full report.
        pictured: whether it has a picture.
        leads: whether it concludes in place of the run, which is a sweep or an audit.
    """

    name: str
    title: str
    result: Result
    command: str
    full: bool = True
    pictured: bool = True
    leads: bool = False

    @property
    def html(self) -> Markup:
        """Return the section."""
        return section(
            self.result, self.title, full=self.full, linked=True, command=self.command,
            pictured=self.pictured,
        )  # fmt: skip


def sections_of(
    run: Run,
    answers: Sequence[RunAnswer],
    systems: Result,
    people: RunWithPeople | None,
    beside: Sequence[Result],
    titles: Mapping[str, str],
) -> Iterator[PageSection]:
    """Yield the sections that any run has.

    Args:
        answers: that on trust alone where another result concludes in place of the run.
        systems: without tables there: they are variants of responses, which nobody ranks.
        beside: what there is to say of people beside the panel.
        titles: the beginnings of prompts, by their ids.
    """
    shown = command_on(run, "report", people=people)
    means = [table for table in systems.tables if table.name == "systems"]
    ranked = [row["system"] for table in means for row in table.rows]
    differs = who_differs_result(run, ranked, titles)
    agreement = [table for table in differs.tables if table.name == "alpha"]
    others = [table for table in differs.tables if table.name != "alpha"]
    results = {name: [each for each in beside if _EVIDENCE.get(each.analysis) == name]
             for name in QUESTIONS}  # fmt: skip
    # The first screen has a picture of the means.
    kept = [table for table in systems.tables if table.name != "means"]
    kept.sort(key=lambda table: table.name != "differences")
    of_people = [_corrected(each) for each in results["settle"] if kept]
    results["settle"] = [*of_people, replace(systems, tables=kept)]
    results["trust"].append(Result("trust", (), agreement))
    of = {answer.question: answer for answer in answers}
    if not results["personas"] and "personas" in of and of["personas"].is_known:
        # What counts votes takes long to import.
        from persona_panel.analyses.votes import votes_result
        from persona_panel.runs.votes import votes_of

        votes = votes_of(run, ratings_of(run))
        results["personas"].append(votes_result(votes, labels=dimension_names(run.rubric)))
    if not run.coverage.scored:
        results = {"trust": []}
    results["trust"].append(Result("missing", (), [*missing_tables(run)]))
    origin = None if people is None else people.people.origin
    for question in ("settle", "trust", "personas", "people"):
        those = results.get(question, [])
        tables = [table for each in those for table in each.tables]
        if not any(table.is_shown(True) for table in tables):
            continue
        sentences, remarks = [], [remark for each in those for remark in each.remarks]
        if (answer := of.get(question)) is not None:
            sentences.append(answer.sentence)
        if question == "people" and origin is not None:
            remarks += origin_sentences(origin)
        name, title = question.capitalize(), QUESTIONS[question]
        if question == "settle":
            name = title = "Systems"
            answered = {each.text for each in answers}
            sentences += [
                each for each in conclusion_of(run, people) if "best" in of and each not in answered
            ]
        command = shown
        if answer is not None and question != "settle":
            command = answer.command or shown
        result = Result("systems" if question == "settle" else question, sentences, tables, remarks)
        yield PageSection(name, title, result, command)
    if not run.coverage.scored:
        return
    for each in beside:
        if each.analysis not in _EVIDENCE:
            title = ANALYSES[each.analysis].title
            yield PageSection(each.analysis.capitalize(), title, each, shown)
    if "best" in of:
        title = "Differences between judges"
        yield PageSection("Differences", title, replace(differs, tables=others), shown)
    # Of many judgments the analyses take longer than all else on the page.
    if "best" in of and run.coverage.expected <= SAYS_WHO_DIFFERS:
        from persona_panel.analyses.robustness import robustness_result

        title, command = ANALYSES["robustness"].title, command_on(run, "robustness")
        robust = robustness_result(run, people, ordinal=False)
        yield PageSection("Robustness", title, robust, command)
    title, command = ANALYSES["contested"].title, command_on(run, "contested")
    yield PageSection("Contested", title, _contested(run, titles), command, pictured=False)


def _corrected(calibrated: Result) -> Result:
    """The corrected means and differences, the differences first."""
    tables = [table for table in reversed(calibrated.tables) if table.title]
    return replace(
        calibrated, tables=tables, remarks=[*calibrated.remarks, *calibrated.remarks_in_full]
    )


def _contested(run: Run, titles: Mapping[str, str]) -> Result:
    """The most contested responses: those that are, and of none that is three."""
    measured = ranked_responses(run) if run.rubric.numeric else ()
    n = sum(entry.shown for entry in measured)
    known = any(entry.reason is None for entry in measured)
    top = min(_CONTESTED, max(n, _UNESTABLISHED)) if known else _CONTESTED
    return replace(contested_result(run, top, titles=titles), remarks=())


def judge_names(judges: Sequence[Judge], personas: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Each judge's name by its id: the persona's label and the model; the elicitation where judges
    differ in it, the replicate from the second on.

    Args:
        personas: label and axis of each, by its id.
    """
    several = len({judge.elicitation for judge in judges}) > 1
    return {
        judge.id: " · ".join(
            [
                personas[judge.persona][0],
                judge.model,
                *([judge.elicitation] if several else []),
                *([str(judge.replicate)] if judge.replicate > 1 else []),
            ]
        )
        for judge in judges
    }


def dimension_names(rubric: Rubric) -> dict[str, str]:
    """The label of each dimension by its id, and what the mean over them is called."""
    whole = dict.fromkeys((ALL, COMPOSITE), "Composite")
    return whole | {dimension.id: dimension.label for dimension in rubric.dimensions}


def further_results(
    run: Run,
    manifest: Mapping[str, Any] | None,
    summary: Mapping[str, Any] | None,
    judges: Mapping[str, str],
    titles: Mapping[str, str],
) -> Iterator[PageSection]:
    """Yield the sections that not every run has, each the result of what made it.

    What reads such a result is imported where the run has it: at the end of a run the modules of
    all of them would take longer than the page of a small one.

    Args:
        manifest, summary: run.json and summary.json of its folder.
        judges, titles: what people read in place of the ids of judges and prompts.
    """
    command = command_on(run, "report")
    if run.before is not None:
        from persona_panel.analyses.deliberation import deliberation_result

        yield PageSection("Deliberation", "Deliberation", deliberation_result(run), command)
    if manifest is not None and summary is not None and "sweep" in summary:
        from persona_panel.experiments.sweep.sweep_result import kept_sweep_result

        swept = kept_sweep_result(run, manifest, summary, titles)
        yield PageSection("Sweep", "Sweep", swept, command, leads=True)
    if (folder := run.folder) is None:
        return
    if (folder / "injection.json").is_file():
        from persona_panel.experiments.injection_uplift import read_injection

        if (audit := read_injection(folder, labels=judges)) is not None:
            yield PageSection("Injection", "Audit of prompt injection", audit, command, leads=True)
    if (folder / "bias.json").is_file():
        from persona_panel.analyses.bias_result import read_biases

        if (bias := read_biases(folder)) is not None:
            yield PageSection("Bias", "Audit of bias", bias, command_on(run, "audit bias"))
    if (folder / "keypoints.json").is_file():
        from persona_panel.experiments.key_points import read_key_points

        if (key_points := read_key_points(run, folder, judges)) is not None:
            title = "Key points of the judges’ reasons"
            yield PageSection("Key points", title, key_points, command, full=False)


def cost_of(run: Run) -> str | None:
    """Return what the calls of every start of the run cost, in words; None where nothing did."""
    used = _in_all(run.calls).usage.items()
    return spent(cost(run.prices.get(model), usage) for model, usage in used)


def missing_tables(run: Run) -> Iterator[Table]:
    """Yield the commonest reasons of missing and odd judgments, and how many are missing of each
    model; nothing where there are no reasons."""
    reasons = sorted(run.reasons, key=lambda entry: -entry[2])
    if not reasons:
        return
    names = ("status", "reason", "n")
    rows = [dict(zip(names, entry, strict=True)) for entry in reasons[:_REASONS]]
    more = len(reasons) - len(rows)
    keys, n = (Key("reason", "reason"), Key("status", "status")), Column("n", "whole", "judgments")
    cut = [f"{counted(more, 'more reason')} in summary.json."] if more else []
    yield Table("reasons", keys, (n,), rows, "Missing and odd judgments by reason", remarks=cut)
    lost = [{"model": model, "n": n, "of": of} for model, n, of in missing_by_model(run)]
    column = Column("n", "whole", "missing", of="of"), Column("of", "whole")
    yield Table("models", (Key("model", "model"),), column, lost, "Missing judgments by model")


def missing_by_model(run: Run) -> list[tuple[str, int, int]]:
    """Return each model's missing judgments and all of its judgments, the greatest share first."""
    there: frozenset[Status] = frozenset(("scored", "abstained"))
    lost: Counter[str] = Counter()
    for row in run.statuses:
        lost.update(
            judge.model
            for judge, status in zip(run.judges, row, strict=True)
            if status not in there
        )
    asked = Counter(judge.model for judge in run.judges)
    measured = [(model, n, asked[model] * len(run.items)) for model, n in lost.items()]
    return sorted(measured, key=lambda entry: -entry[1] / entry[2])


def _in_all(calls: CallCounts) -> Spending:
    """Return what the calls of every start of the run came to: a finished run that is
    started again makes none, and has cost what it cost."""
    return calls.before + Spending(calls.made, calls.spent)


def method_result(
    run: Run, manifest: Mapping[str, Any] | None, coverage: Coverage, left_out: Sequence[str]
) -> Result:
    """Return how a run was made.

    Args:
        manifest: what run.json holds; None where there is no folder.
        coverage: of all that was planned.
        left_out: what of the run is not on its page.
    """
    rows = [{"what": what, "how": how} for what, how in _facts(run, manifest, coverage)]
    column = Column("how", "text", "value")
    where = "" if run.folder is None else ", in the run's folder"
    sentence = (
        f"Seed {run.seed}. The figures are in summary.json and verdicts.csv, every judgment in "
        "judgments.jsonl; run.json has parameters, versions and the digests of the inputs"
        f"{where}. This page loads nothing and sends nothing."
    )
    made = Table("made", (Key("what", "what"),), (column,), rows, "How the run was made")
    return Result("method", [sentence], [made], left_out)


def _facts(
    run: Run, manifest: Mapping[str, Any] | None, coverage: Coverage
) -> Iterator[tuple[str, str]]:
    """Return how the run was made, as names and values."""
    yield "rubric", f"{run.rubric.label} ({run.rubric.id}): {run.rubric.question}"
    for name in ("persona", "model", "elicitation"):
        yield f"{name}s", ", ".join(dict.fromkeys(getattr(each, name) for each in run.judges))
    yield "intervals of differences", SAMPLES[run.random]
    yield "judgments", judged(coverage)
    yield "calls", _calls(run)
    if run.folder is not None:
        yield "folder", run.folder.name
    for start in ((manifest or {}).get("starts") or [])[-1:]:
        yield "last start (UTC)", f"{start.get('at', '')}: {start.get('command', '')}"


def _calls(run: Run) -> str:
    """Return the number of calls of all starts, and their cost."""
    calls, in_all = run.calls, _in_all(run.calls)
    again = ""
    if calls.before.calls:
        last = in_all.calls - calls.before.calls
        again = f" in all starts of the run, in the last one {last:,}"
    return (
        f"{counted(in_all.calls, 'call')}{again}; {calls.cached:,} from the cache; "
        f"{cost_of(run) or 'no cost'}; {seconds(run.elapsed_s)}"
    )


def systems_result(run: Run, board: Leaderboard, people: RunWithPeople | None = None) -> Result:
    """Return the systems of a run as a result: `systems` as they are ranked, by people's ratings
    where there are any, and `means` by dimension."""
    controls = run.control_leaderboard()
    tables = list(board_tables(run, board))
    if controls is not None:
        own = board_tables(run, controls, "control_", ", by judges without a persona")
        tables += [replace(table, when="full") for table in own if table.title]
    scales = {mean_limits(run.rubric, [entry.id])[0] for entry in run.rubric.numeric}
    scale = scales.pop() if len(scales) == 1 else None
    place = {name: n for n, (name, _) in enumerate(ranking_of(run, people).systems, 1)}
    drawn: dict[str, Callable[[Table], Table]] = {
        "systems": lambda table: _with_marks(table, run, people, place),
        "dimensions": lambda table: _with_judges(table, run),
        "means": lambda table: replace(
            table, when="always", scale=scale,
            columns=(*sorted(table.columns, key=lambda c: place.get(one_line(c.head), inf)),),
        ),
    }  # fmt: skip
    tables = [drawn[each.name](each) if each.name in drawn else each for each in tables]
    return Result("systems", [], tables)


def _with_marks(
    table: Table, run: Run, people: RunWithPeople | None, place: Mapping[str, int]
) -> Table:
    """The leaderboard with its abstentions, missing judgments, the mean of each prompt and what
    people would give; `place` is each system's, the first 1."""
    prompts, missing = _prompt_means(run), _missing(run)
    calibrated = [] if people is None or people.calibrated is None else people.calibrated.systems
    # On the first dimension.
    theirs = [each for each in calibrated if each.dimension == calibrated[0].dimension]
    corrects = all(each.corrected.reason is None for each in theirs)
    calibration = None if people is None else people.calibrated
    our_scale, their_scale = ("", "") if calibration is None else on_scales(calibration)
    by = {
        each.system: replace(each.corrected, p=nan) if corrects else each.human_only
        for each in theirs
    }
    rows = []
    for row in sorted(table.rows, key=lambda row: place.get(row["system"], inf)):
        name = row["system"]
        n_judged = row.get("n_judged") or 0
        few = len(prompts[name]) <= _TICKS and len(table.rows) <= _MARKED
        n = {"n_missing": missing[name], "n_asked": missing[name] + n_judged}
        marks = prompts[name] if few else []
        own = {"people": by.get(name), "place": Estimate(place.get(name, nan))}
        rows.append({**row, **n, "marks": marks, **own})
    rank, composite, *columns = (
        entry for entry in table.columns if entry.name not in ("n_abstained", "n_judged")
    )
    their_head = "corrected\nby people" if corrects else "people"
    by_people = [
        Column("people", "estimate", f"{their_head}{their_scale}"),
        replace(rank, name="place", head="rank", figure=""),
    ]
    if by:
        composite = replace(composite, head=f"panel{our_scale}")
        rank = replace(rank, head="rank by panel")
    return replace(
        table,
        columns=(
            composite,
            *(by_people if by else []),
            rank,
            *columns,
            Column("n_abstained", "whole", "abstentions", of="n_judged"),
            Column("n_missing", "whole", "missing", of="n_asked"),
        ),
        rows=rows, wide="with_judges", hollow="declining_mean",
        # The axis is of the panel's scale.
        beside="" if their_scale else "people",
    )  # fmt: skip


def _prompt_means(run: Run) -> Mapping[str, list[float]]:
    """Each system's mean composite on each prompt."""
    measured: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for verdict in run.verdicts:
        if not isnan(verdict.composite):
            measured[verdict.system][verdict.prompt_id].append(verdict.composite)
    means = {name: [*map(fmean, those.values())] for name, those in measured.items()}
    return defaultdict(list, means)


def _missing(run: Run) -> Mapping[str, int]:
    n: dict[str, int] = defaultdict(int)
    columns, _ = run.ranking_columns()
    for item, row in zip(run.items, run.statuses, strict=True):
        n[item.system] += sum(row[column] not in ("scored", "abstained") for column in columns)
    return n


def _with_judges(table: Table, run: Run) -> Table:
    """The means by dimension with their intervals over prompts and judges, too."""
    ranked = _by_dimension(run)

    def wide(row: Mapping[str, Any]) -> Estimate:
        entry = ranked.get(row["dimension"], {}).get(row["system"])
        if entry is None or entry.declines:
            return Estimate(nan)
        return replace(entry.with_judges, reason=None)

    column = Column("with_judges", "estimate", "over prompts\nand judges", ends_only=True)
    rows = [{**row, "with_judges": wide(row)} for row in table.rows]
    return replace(
        table, columns=(*table.columns, column), rows=rows, wide="with_judges",
        hollow="declining_mean",
    )  # fmt: skip


def _by_dimension(run: Run) -> Mapping[str, Mapping[str, SystemRank]]:
    """The systems on each dimension that is rated by numbers."""
    verdicts = run.verdicts
    rows = {item[:2]: row for row, item in enumerate(run.items)}
    kept = [rows[entry.prompt_id, entry.id] for entry in verdicts]
    columns, _ = run.ranking_columns()
    labels = {
        "persona": [run.judges[column].persona for column in columns],
        "model": [run.judges[column].model for column in columns],
    }
    factors = {axis: those for axis, those in labels.items() if len(set(those)) > 1}
    abstentions = run.abstentions(kept, columns)

    def board(name: str) -> Leaderboard:
        ratings = run.ratings[np.ix_(kept, columns, [run.dimensions.index(name)])]
        return rank_systems(
            [verdict.system for verdict in verdicts],
            [verdict.prompt_id for verdict in verdicts],
            np.array([verdict.dimensions[name].mean for verdict in verdicts]),
            np.empty((len(verdicts), 0)),
            [],
            judges=JudgeSample(ratings, factors),
            limits=mean_limits(run.rubric, [name])[0],
            abstentions=abstentions,
            compared=False,
        )

    numeric = (entry.id for entry in run.rubric.numeric)
    return {name: {each.system: each for each in board(name).systems} for name in numeric}
