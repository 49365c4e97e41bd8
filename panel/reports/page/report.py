"""A run's page: `report_of` puts it together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment
from markupsafe import Markup

from persona_panel.analyses.analysis import analyses_on_page
from persona_panel.analyses.answers import answers_of, conclusion_of
from persona_panel.analyses.contested import by_disagreement, contested_result, most_contested
from persona_panel.analyses.on_page import EPSILON, RunWithPeople
from persona_panel.analyses.who_differs import who_differs_result
from persona_panel.files.errors import InputError, RunFolderError
from persona_panel.files.named_files import shown_folder
from persona_panel.files.outputs import replace_file
from persona_panel.files.pages import templates
from persona_panel.files.wording import command_line
from persona_panel.personas import NO_PERSONA
from persona_panel.planning.panel_plan import counted_judges
from persona_panel.reports.page.embedded import embedded
from persona_panel.reports.page.further import further_results
from persona_panel.reports.page.method import cost_of, judged, method_result, missing_tables
from persona_panel.reports.page.names import dimension_names, judge_names
from persona_panel.reports.page.systems import systems_result
from persona_panel.results.answer import QUESTIONS, Answer
from persona_panel.results.conclusions.readings import origin_sentences
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.definitions import DEFINITIONS
from persona_panel.results.formats.html import (
    TEMPLATES, gauge, page, part, picture, picture_of, section,
)  # fmt: skip
from persona_panel.results.page_text import sentence, shown
from persona_panel.results.result import Result
from persona_panel.runs.kept import object_if_there
from persona_panel.runs.run import Run
from persona_panel.statistics.core.display import ends
from persona_panel.statistics.core.table import Coverage, Ratings

if TYPE_CHECKING:
    from persona_panel.analyses.group_contrasts import GroupContrasts

NAME = "report.html"
_HEIGHT = 720
_STRATA_LINES = 200
"""How many systems within strata a page shows."""
_CONTESTED, _UNESTABLISHED = 8, 3
_OWN = ("persona_panel.reports.page", "templates")
_ANSWERED_BY = {"correlate": "people", "fidelity": "people", "votes": "personas"}
"""The question for which an analysis beside people's ratings has the evidence; of the others the
systems."""


class RunReport:
    """A run's page, as a text of HTML; a notebook shows it.

    `people` is the run beside people's ratings, `beside` the results of that; None and nothing
    without.
    """

    def __init__(
        self, html: str, people: RunWithPeople | None = None, beside: Sequence[Result] = ()
    ) -> None:
        self.html = html
        self.people = people
        self.beside = beside

    def __repr__(self) -> str:
        return f"<RunReport: {len(self.html.encode()):,} bytes of HTML>"

    def _repr_html_(self) -> str:
        # In a frame without an origin, so that no style or script of a notebook meets the page's.
        return (
            f'<iframe title="report of a run" width="100%" height="{_HEIGHT}" frameborder="0" '
            f'sandbox="allow-scripts" srcdoc="{escape(self.html)}"></iframe>'
        )

    def write(self, path: str | Path) -> Path:
        """Write the page to a file that its owner alone can read; gives its path.

        Raises:
            OSError: it cannot be written.
        """
        path = Path(path)
        replace_file(path, self.html.encode("utf-8", "replace"))
        return path


class _Part(NamedTuple):
    """A section of the page, what the navigation calls it, and which element it is."""

    id: str
    name: str
    section: Markup


class _Line(NamedTuple):
    """An answer on the first screen, with the section that has its evidence, if any."""

    answer: Answer
    question: str
    chart: Markup
    evidence: str
    definition: str


def _titles(run: Run) -> Mapping[str, str]:
    """The beginning of each prompt; none where the run's folder is to have no texts."""
    if run.folder is not None:
        try:
            next(run.responses(), None)
        except RunFolderError:
            return {}
        except InputError:
            # Other parts of the page say what cannot be read.
            pass
    return run.titles


def report_of(
    run: Run,
    humans: Ratings | None = None,
    by: str | None = None,
    *,
    epsilon: float = EPSILON,
    inclusion: Mapping[str, float] | None = None,
    fidelity: GroupContrasts | None = None,
    required: Sequence[str] = (),
) -> RunReport:
    """Return the page of a run, with texts and replies where the run has a folder.

    Args:
        humans: people's ratings of the same responses, to be shown beside the panel's.
        by: also show the systems within strata; see `persona_panel.analyses.breakdown.systems_by`.
        epsilon, inclusion, fidelity, required: see
            `persona_panel.analyses.on_page.RunWithPeople`.

    Raises:
        InputError: a file of the folder is none that a run writes, `humans` share no response or
            no dimension with the run, an item that people rated has no inclusion probability, or
            the responses have no column `by`.
    """
    manifest, summary = _document(run.folder, "run.json"), _document(run.folder, "summary.json")
    personas, titles = _personas(run, manifest), _titles(run)
    judges = judge_names(run.judges, personas)
    people = None
    if humans is not None:
        people = RunWithPeople.of(
            run, humans, judges=judges, dimensions=dimension_names(run.rubric), epsilon=epsilon,
            inclusion=inclusion, fidelity=fidelity, required=required,
        )  # fmt: skip
        if run.before is not None:
            run.humans = humans
    beside = [] if people is None else _beside(people)
    further = list(further_results(run, manifest, summary, judges, titles))
    # A sweep or an audit has its own conclusion, which claims no lead.
    leading = next((entry.result for entry in reversed(further) if entry.leads), None)
    coverage = run.coverage if leading is None else leading.coverage or run.coverage
    systems = systems_result(run, run.leaderboard(), people)
    contested = _contested(run, titles)
    data = embedded(run, personas, by_disagreement(run), titles=titles)
    answers = answers_of(run, people) if leading is None else ()
    parts = [*_parts(run, answers, systems, beside, people, titles)]
    if by is not None:
        parts.insert(1, _Part("strata", f"By {by}", _by(run, by)))
    parts.append(
        _Part(
            "contested", "Contested",
            section(
                contested, "What the panel disagrees about", linked=True, pictured=False,
                command=_command(run, "contested"),
            ),
        )
    )  # fmt: skip
    for entry in further:
        left = entry.result if entry.result is not leading else replace(leading, conclusion=())
        made = section(left, entry.title, full=entry.full, command=_command(run, "report"))
        place = 0 if entry.leads else len(parts)
        parts.insert(place, _Part(entry.result.analysis, entry.title.split()[0], made))
    method = method_result(run, manifest, coverage, data.left_out)
    first, *others = answers or (None,)
    drawn = {table.name: table for table in systems.tables if table.is_shown(True)}
    ranking, means = (drawn.get(name) for name in ("systems", "means"))
    body = _environment().get_template("page.html.jinja").render(
        title=run.rubric.label,
        read=_read(run, people, coverage),
        folder=None if run.folder is None else run.folder.name,
        answer=leading.conclusion[0] if leading else first.sentence if first else "",
        also=leading.conclusion[1:] if leading else (),
        picture=picture_of(leading) if leading else Markup() if ranking is None
        else picture(ranking),
        lines=_lines(others, parts),
        means=None if leading or means is None else picture(means),
        contested=contested.conclusion[:1],
        parts=parts,
        method=section(method, "Method"),
        n_texts=data.n_listed,
    )  # fmt: skip
    n_systems = len({item.system for item in run.items})
    title = f"{run.rubric.label}: {counted(n_systems, 'system')}, {counted_judges(run.judges)}"
    html = page(title, body, script=part(*_OWN, "page.js"), data=data.json)
    return RunReport(html, people, beside)


def _parts(
    run: Run,
    answers: Sequence[Answer],
    systems: Result,
    beside: Sequence[Result],
    people: RunWithPeople | None,
    titles: Mapping[str, str],
) -> Iterator[_Part]:
    """Yield the sections that hold the evidence of the answers, in their order, then who differs."""
    of = {answer.question: answer for answer in answers}
    settle = of.get("settle")
    corrected = [each for each in beside if each.analysis not in _ANSWERED_BY]
    tables = [
        *(table for each in corrected for table in reversed(each.tables)),
        *sorted(systems.tables, key=lambda table: table.name != "differences"),
    ]
    said = [] if settle is None else [settle.sentence]
    if answers:
        answered = {answer.text for answer in answers}
        said += [each for each in conclusion_of(run, people) if each not in answered]
    remarks = [remark for each in corrected for remark in (*each.remarks, *each.remarks_in_full)]
    yield _Part(
        "systems", "Systems",
        section(
            Result("systems", said, tables, remarks), "Systems",
            command=_command(run, "report", people is not None),
        ),
    )  # fmt: skip
    ranked = [row["system"] for row in systems["systems"].rows]
    differs = who_differs_result(run, ranked, titles)
    agreement = [table for table in differs.tables if table.name == "alpha"]
    tables_of = {
        "trust": [*agreement, *missing_tables(run)],
        "personas": [],
        "people": [],
    }
    origin = None if people is None else people.people.origin
    remarks_of = {"people": [] if origin is None else origin_sentences(origin)}
    for each in beside:
        if (question := _ANSWERED_BY.get(each.analysis)) is not None:
            tables_of[question] += each.tables
            remarks = [*each.conclusion] if each.analysis == "fidelity" else []
            remarks_of.setdefault(question, []).extend([*remarks, *each.remarks])
    for question, own in tables_of.items():
        if any(table.is_shown(True) for table in own):
            answer = of.get(question)
            result = Result(
                question, [] if answer is None else [answer.sentence], own,
                remarks_of.get(question, ()),
            )  # fmt: skip
            command = _command(run, "report") if answer is None else answer.command
            title = QUESTIONS[question]
            yield _Part(question, question.capitalize(), section(result, title, command=command))
    rest = [table for table in differs.tables if table.name != "alpha"]
    yield _Part(
        "differences", "Differences",
        section(
            replace(differs, tables=rest), "Who sees it otherwise", linked=True,
            command=_command(run, "report"),
        ),
    )  # fmt: skip


def _lines(answers: Sequence[Answer], parts: Sequence[_Part]) -> list[_Line]:
    """The answers after the first; that to what would settle it has its evidence with systems."""
    there = {each.id for each in parts}
    lines = []
    for answer in answers:
        where = "systems" if answer.question == "settle" else answer.question
        question, chart = QUESTIONS[answer.question], gauge(answer.estimate, answer.marks)
        evidence = where if where in there else ""
        definition = DEFINITIONS.get(answer.measure, "")
        lines.append(_Line(answer, question, chart, evidence, definition))
    return lines


def _beside(people: RunWithPeople) -> list[Result]:
    """The results of the analyses that have something to say of people beside the panel."""
    return [
        result
        for analysis in analyses_on_page()
        if analysis.on_page is not None
        for result in analysis.on_page(people)
    ]


def _read(run: Run, people: RunWithPeople | None, coverage: Coverage) -> str:
    """What was read and by whom."""
    n = {name: len({getattr(item, name) for item in run.items}) for name in ("system", "prompt_id")}
    personas = {judge.persona for judge in run.judges if judge.persona != NO_PERSONA.id}
    models = {judge.model for judge in run.judges}
    said = (
        f"{counted(len(run.items), 'response')}: {counted(n['system'], 'system')}, "
        f"{counted(n['prompt_id'], 'prompt')}. {counted_judges(run.judges)}: "
        f"{counted(len(personas), 'persona')}, {counted(len(models), 'model')}. Rated on "
        f"{counted(len(run.dimensions), 'dimension')}: {judged(coverage)}."
    )
    if people is not None:
        ratings = people.people
        said += f" {counted(len(ratings.raters), 'person')} rated {len(ratings.items):,}."
    cost = cost_of(run)
    return said if cost is None else f"{said} {cost[0].upper()}{cost[1:]}."


def _command(run: Run, name: str, with_people: bool = False) -> str:
    folder = "RUN" if run.folder is None else shown_folder(run.folder)
    return command_line(name, [folder], {"--human": "RATINGS"} if with_people else {})


def _environment() -> Environment:
    made = templates(*_OWN, shown, TEMPLATES)
    made.filters["sentence"] = sentence
    made.globals["ends"] = ends
    return made


def _by(run: Run, by: str) -> Markup:
    """The systems within strata."""
    from persona_panel.analyses.breakdown.strata import systems_by
    from persona_panel.analyses.systems_by import systems_by_result

    result = systems_by_result(systems_by(run, by), run, lines=_STRATA_LINES)
    return section(result, f"By {by}", full=False, command=_command(run, "report"))


def _contested(run: Run, titles: Mapping[str, str]) -> Result:
    """The most contested responses: those that are, and of none that is three."""
    n = sum(entry.established for entry in most_contested(run)) if run.rubric.numeric else 0
    known = (
        any(entry.reason is None for entry in most_contested(run)) if run.rubric.numeric else False
    )
    top = min(_CONTESTED, max(n, _UNESTABLISHED)) if known else _CONTESTED
    return replace(contested_result(run, top, titles=titles), remarks=())


def _document(folder: Path | None, name: str) -> Mapping[str, Any] | None:
    """A JSON file of the folder, None where there is none."""
    return None if folder is None else object_if_there(folder / name)


def _personas(run: Run, manifest: Mapping[str, Any] | None) -> dict[str, tuple[str, str]]:
    """Label and axis of each persona, by its id; the id itself where nothing more is known."""
    known = {
        entry["id"]: (entry["label"], entry["axis"])
        for entry in (manifest or {}).get("personas", ())
    }
    return {judge.persona: known.get(judge.persona, (judge.persona, "")) for judge in run.judges}
