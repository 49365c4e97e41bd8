"""The sections of a run's page, in the order in which a reader doubts: first those that hold the
evidence of the answers, each beginning with its answer; and the names of judges and dimensions on
it, by words where these are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from markupsafe import Markup

from persona_panel.analyses.analysis import ANALYSES, RunWithPeople
from persona_panel.analyses.answers import command_on, conclusion_of
from persona_panel.analyses.contested import contested_result, ranked_responses
from persona_panel.analyses.run_summary import SAYS_WHO_DIFFERS
from persona_panel.analyses.who_differs import who_differs_result
from persona_panel.graphs import Judge
from persona_panel.reports.page.method import missing_tables
from persona_panel.results.answer import QUESTIONS, RunAnswer
from persona_panel.results.conclusions.wording import origin_sentences
from persona_panel.results.formats.html import section
from persona_panel.results.result import Result
from persona_panel.rubrics import Rubric
from persona_panel.runs.collected import ratings_of
from persona_panel.runs.run import Run
from persona_panel.statistics.core.display import ALL, COMPOSITE

_CONTESTED, _UNESTABLISHED = 8, 3
_EVIDENCE = {"calibrate": "settle", "correlate": "people", "votes": "personas"}
"""The question for which an analysis beside people's ratings has the evidence; what others say
answers none of them, and has a section of its own."""
_BY_PEOPLE = ", corrected by people's ratings"


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
    shown = command_on(run, "report")
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
            yield PageSection(
                each.analysis.capitalize(), title, each, command_on(run, each.analysis)
            )
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
    tables = [
        replace(table, title=f"{table.title.removesuffix(_BY_PEOPLE)}{_BY_PEOPLE}")
        for table in reversed(calibrated.tables)
        if table.title
    ]
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
        from persona_panel.experiments.audit.uplift import read_injection

        if (audit := read_injection(folder, labels=judges)) is not None:
            yield PageSection("Injection", "Audit of prompt injection", audit, command, leads=True)
    if (folder / "bias.json").is_file():
        from persona_panel.analyses.bias_result import read_biases

        if (bias := read_biases(folder)) is not None:
            yield PageSection("Bias", "Audit of bias", bias, command_on(run, "audit bias"))
    if (folder / "keypoints.json").is_file():
        from persona_panel.experiments.keypoints.report import read_key_points

        if (key_points := read_key_points(run, folder, judges)) is not None:
            title = "Key points of the judges’ reasons"
            yield PageSection("Key points", title, key_points, command, full=False)
