"""A run's page: `report_of` puts it together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment

from persona_panel.analyses.analysis import EPSILON, RunWithPeople, analyses_on_page, command_on
from persona_panel.analyses.answers import answers_of
from persona_panel.analyses.contested import by_disagreement
from persona_panel.analyses.ranked_systems import ranking_of
from persona_panel.files.errors import InputError, RunFolderError
from persona_panel.files.outputs import replace_file
from persona_panel.files.pages import sentence, shown, templates
from persona_panel.personas import NO_PERSONA
from persona_panel.planning.panel_plan import counted_judges
from persona_panel.reports.page.embedded import embedded
from persona_panel.reports.page.sections import (
    PageSection,
    cost_of,
    dimension_names,
    further_results,
    judge_names,
    method_result,
    sections_of,
    systems_result,
)
from persona_panel.results.conclusions.wording import counted, first_upper, judged
from persona_panel.results.definitions import DEFINITIONS
from persona_panel.results.formats.html import (
    TEMPLATES,
    figures,
    gauge,
    names_of,
    page,
    part,
    picture,
)
from persona_panel.results.result import QUESTIONS, Result, RunAnswer
from persona_panel.runs.kept import object_if_there
from persona_panel.runs.run import Run
from persona_panel.runs.run_remarks import unfenced_notice
from persona_panel.statistics.core.table import Coverage, Ratings

if TYPE_CHECKING:
    from persona_panel.analyses.group_contrasts import GroupContrasts

NAME = "report.html"
_HEIGHT = 720
_STRATA_LINES = 200
"""The largest number of systems within strata that a page shows."""
_OWN = ("persona_panel.reports.page", "templates")


class RunReport:
    """A run's page, as a text of HTML; a notebook shows it.

    `people` is the run beside people's ratings, `beside` the results of that; None and nothing
    without; `leading` is the result that concludes in place of the run, of a sweep or an audit.
    """

    def __init__(
        self,
        html: str,
        people: RunWithPeople | None = None,
        beside: Sequence[Result] = (),
        leading: Result | None = None,
    ) -> None:
        self.html = html
        self.people = people
        self.beside = beside
        self.leading = leading

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
        by: also show the systems within strata; see `persona_panel.analyses.strata.systems_by`.
        epsilon, inclusion, fidelity, required: see
            `persona_panel.analyses.analysis.RunWithPeople`.

    Raises:
        InputError: a file of the folder is none that a run writes, `humans` share no response or
            no dimension with the run, an item that people rated has no inclusion probability, or
            the responses have no column `by`.
    """
    names = ("run.json", "summary.json")
    manifest, summary = (object_if_there(run.folder / n) if run.folder else None for n in names)
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
    beside = [] if people is None else list(_beside(people))
    further = list(further_results(run, manifest, summary, judges, titles))
    # A sweep or an audit has its own conclusion, which claims no lead.
    leading = next((entry for entry in reversed(further) if entry.leads), None)
    answers = answers_of(run, people, systems=leading is None)
    nothing = Result("systems", [], [])
    systems = nothing if leading else systems_result(run, run.leaderboard(), people)
    sections = [*sections_of(run, answers, systems, people, beside, titles)]
    sections += [entry for entry in further if entry is not leading]
    if by is not None:
        sections.insert(1, _by(run, by))
    data = embedded(run, personas, by_disagreement(run), titles=titles)
    coverage = run.coverage if leading is None else leading.result.coverage or run.coverage
    method = method_result(run, manifest, coverage, data.left_out)
    sections.append(PageSection("Method", "Method", method, ""))
    title = f"{leading.title}: {run.rubric.label}" if leading else run.rubric.label
    html = page(
        title,
        _environment().get_template("page.html.jinja").render(
            title=title,
            read=_read(run, people, coverage, systems=leading is None),
            sections=sections,
            n_texts=data.n_listed,
            sections_there={entry.result.analysis for entry in sections},
            **_first_screen(run, people, answers, leading, systems, sections),
        ),
        script=part(*_OWN, "page.js"),
        data=data.json,
    )  # fmt: skip
    return RunReport(html, people, beside, leading.result if leading else None)


def _first_screen(
    run: Run,
    people: RunWithPeople | None,
    answers: Sequence[RunAnswer],
    leading: PageSection | None,
    systems: Result,
    sections: Sequence[PageSection],
) -> dict[str, Any]:
    """Return what the first screen has below the title: the answer, its picture, what limits it."""
    if leading is not None:
        answer, *also = leading.result.conclusion or [""]
        made = figures(leading.result, linked=True, command=leading.command)
        names = names_of(leading.result.tables)
        own = {
            "answer": sentence(answer, names), "also": [sentence(each, names) for each in also],
            "figures": made, "lines": answers, "names": names,
        }  # fmt: skip
        return own | {"means": "", "contested": ()}
    first, *others = answers
    means = picture(systems, "means", first.command) if run.coverage.scored else ""
    contested = [each.result for each in sections if each.result.analysis == "contested"]
    is_known = any(
        row.get("established") for each in contested for table in each.tables for row in table.rows
    )
    names = names_of(systems.tables)
    return {
        "answer": sentence(first.sentence, names), "means": means, "names": names,
        "also": [*unfenced_notice(run), *run.rubric.asked_in.notice],
        "figures": picture(systems, "systems", first.command), "lines": others,
        "means_title": "Dimensions" + ", by the panel alone" * bool(ranking_of(run, people).basis),
        "contested": [each.conclusion[0] for each in contested if each.conclusion],
        "contested_title": "Most contested text" if is_known else "Text with the widest spread",
    }  # fmt: skip


def _beside(people: RunWithPeople) -> Iterator[Result]:
    """Yield the results of the analyses that have something to say of people beside the panel."""
    for analysis in analyses_on_page():
        if analysis.on_page is not None:
            yield from analysis.on_page(people)


def _read(run: Run, people: RunWithPeople | None, coverage: Coverage, *, systems: bool) -> str:
    """Return what was read and by whom; of variants of responses not of how many systems."""
    n = {name: len({getattr(item, name) for item in run.items}) for name in ("system", "prompt_id")}
    personas = {judge.persona for judge in run.judges if judge.persona != NO_PERSONA.id}
    models = {judge.model for judge in run.judges}
    of = f": {counted(n['system'], 'system')}, {counted(n['prompt_id'], 'prompt')}" * systems
    sentence = (
        f"{counted(len(run.items), 'response')}{of}. {counted_judges(run.judges)}: "
        f"{counted(len(personas), 'persona')}, {counted(len(models), 'model')}. Rated on "
        f"{counted(len(run.dimensions), 'dimension')}: {judged(coverage)}."
    )
    if people is not None:
        ratings = people.people
        who = "1 person" if len(ratings.raters) == 1 else f"{len(ratings.raters):,} people"
        sentence += f" {who} rated {counted(len(ratings.items), 'response')}."
    cost = cost_of(run)
    return sentence if cost is None else f"{sentence} {first_upper(cost)}."


@cache
def _environment() -> Environment:
    made = templates(*_OWN, shown, TEMPLATES)
    made.filters["sentence"] = sentence
    made.globals |= {
        "gauge": gauge, "questions": QUESTIONS, "definitions": DEFINITIONS,
    }  # fmt: skip
    return made


def _by(run: Run, by: str) -> PageSection:
    """The systems within strata."""
    from persona_panel.analyses.strata import systems_by, systems_by_result

    result = systems_by_result(systems_by(run, by), run, lines=_STRATA_LINES)
    return PageSection(f"By {by}", f"By {by}", result, command_on(run, "report"), full=False)


def _personas(run: Run, manifest: Mapping[str, Any] | None) -> dict[str, tuple[str, str]]:
    """Label and axis of each persona, by its id; the id itself where nothing more is known."""
    known = {
        entry["id"]: (entry["label"], entry["axis"])
        for entry in (manifest or {}).get("personas", ())
    }
    return {judge.persona: known.get(judge.persona, (judge.persona, "")) for judge in run.judges}
