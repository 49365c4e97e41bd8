"""A run's page: `report_of` puts it together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from persona_panel.analyses.answers import conclusion_of
from persona_panel.analyses.contested import by_disagreement, contested_result, most_contested
from persona_panel.analyses.on_page import EPSILON
from persona_panel.analyses.who_differs import who_differs_result
from persona_panel.files.errors import InputError, RunFolderError
from persona_panel.files.outputs import replace_file
from persona_panel.files.secrets import SECRETS
from persona_panel.personas import NO_PERSONA
from persona_panel.planning.panel_plan import counted_judges
from persona_panel.reports.page.embedded import embedded
from persona_panel.reports.page.environment import csp, environment, part
from persona_panel.reports.page.established import established, made_from
from persona_panel.reports.page.further import further_results
from persona_panel.reports.page.names import judge_names
from persona_panel.reports.page.systems import systems_result
from persona_panel.results.formats.html import section
from persona_panel.results.result import Result
from persona_panel.runs.kept import object_if_there
from persona_panel.runs.run import Run
from persona_panel.statistics.core.table import Ratings

if TYPE_CHECKING:
    from persona_panel.analyses.group_contrasts import GroupContrasts
    from persona_panel.reports.page.people import PeopleSection

NAME = "report.html"
_HEIGHT = 720
_STRATA_LINES = 200
"""How many systems within strata a page shows."""
_CONTESTED, _UNESTABLISHED = 8, 3
_DATA = '<script type="application/json" id="data">'


class RunReport:
    """A run's page, as a text of HTML; a notebook shows it.

    `people` is what it says of people beside the panel, None where nothing.
    """

    def __init__(self, html: str, people: PeopleSection | None = None) -> None:
        self.html = html
        self.people = people

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
    """The page of a run, with texts and replies where the run has a folder.

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
    if humans is not None and run.folder is not None:
        # Not at the end of a run: what computes it takes long to import.
        from persona_panel.reports.page.people import people_section

        people = people_section(
            run,
            run.folder,
            humans,
            judges,
            epsilon=epsilon,
            inclusion=inclusion,
            fidelity=fidelity,
            required=required,
        )
    if humans is not None and run.before is not None:
        run.humans = humans
    board = run.leaderboard()
    ranked = [entry.system for entry in board.systems]
    further = list(further_results(run, manifest, summary, judges, titles))
    data = embedded(run, personas, by_disagreement(run), titles=titles)
    # A sweep or an audit has its own conclusion, which claims no lead.
    leading = next((entry.result for entry in reversed(further) if entry.leads), None)
    said = (
        conclusion_of(run, None if people is None else people.of)
        if leading is None
        else leading.conclusion
    )
    on_leads = () if people is None or leading is not None else people.on_leads
    html = (
        environment()
        .get_template("page.html.jinja")
        .render(
            csp=Markup(csp()),  # noqa: S704
            style=Markup(part("page.css")),  # noqa: S704
            script=Markup(part("page.js")),  # noqa: S704
            embedded=data,
            run=run,
            personas=personas,
            judges=judges,
            n_judges=counted_judges(run.judges),
            n_personas=sum(name != NO_PERSONA.id for name in personas) or len(personas),
            titles=titles,
            axes=list(dict.fromkeys(axis for _, axis in personas.values())),
            established=established(
                run, said, on_leads, None if leading is None else leading.coverage
            ),
            n_systems=len(ranked),
            n_prompts=len({verdict.prompt_id for verdict in run.verdicts}),
            sections=[
                section(systems_result(run, board), "Systems"),
                *([] if by is None else [_by(run, by)]),
                section(
                    who_differs_result(run, ranked, titles), "Who sees it otherwise", linked=True
                ),
                section(_contested(run, titles), "What the panel disagrees about", linked=True),
            ],
            by=by,
            further=[entry.section() for entry in further],
            people=people,
            made=made_from(run, manifest),
        )
    )
    before, element, after = SECRETS.scrub(html).partition(_DATA)
    # Escaped in `embedded`, so that they can neither end their element nor begin one.
    return RunReport(f"{before}{element}{data.json}{after}", people)


def _by(run: Run, by: str) -> Markup:
    """The systems within strata."""
    from persona_panel.analyses.breakdown.strata import systems_by
    from persona_panel.analyses.systems_by import systems_by_result

    result = systems_by_result(systems_by(run, by), run, lines=_STRATA_LINES)
    return section(result, f"By {by}", full=False)


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
