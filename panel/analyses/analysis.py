"""The decorator of an analysis, the run beside people's ratings that its part of a page is of, the
commands on a run, and the decorator of what is computed once for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from importlib import import_module
from math import isnan
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

import click

from persona_panel.files.named_files import shown_folder
from persona_panel.files.wording import command_line
from persona_panel.results.result import Result

if TYPE_CHECKING:
    from persona_panel.analyses.group_contrasts import GroupContrasts
    from persona_panel.runs.run import Run
    from persona_panel.statistics.calibration import Calibration
    from persona_panel.statistics.core.table import Ratings, Row

P = ParamSpec("P")
_Args = ParamSpec("_Args")
_Computed = TypeVar("_Computed")

_EXIT = (
    "Exit status: 0; 2, bad input, each fault named with its line; 3, a requirement is not met, "
    "such as {}."
)


@dataclass(frozen=True, slots=True)
class Analysis:
    """A question that is answered from what was rated, with what its command needs.

    Attributes:
        name: of the command, and of the results.
        group: the heading that the help of `persona-panel` has the command under; commands of the
            group People stand behind `people`.
        title: what a page calls its section.
        function: from inputs to the result.
        parameters: of the command; each is called as an argument of the function.
        requirements: examples of requirements on its figures, for the help.
        example: what follows the command's name in the example of its help.
        n_parts: how many parts of work report their progress, from their start, 0, to their end, 1;
            where there are any, the function takes a `progress`, which is called with that.
        on_page: makes its sections of a run's page beside people's ratings, where it has any.
    """

    name: str
    group: str
    title: str
    function: Callable[..., Result]
    parameters: Sequence[click.Parameter]
    requirements: Sequence[str]
    example: str
    n_parts: int = 0
    on_page: BesidePeople | None = None

    @property
    def help(self) -> str:
        """Return the help of the command: what the function's docstring says before its
        arguments."""
        text, _, _ = inspect.getdoc(self.function).partition("\nArgs:")  # type: ignore[union-attr]
        examples = " or ".join(f"--require '{requirement}'" for requirement in self.requirements)
        return f"{text.strip()}\n\n{_EXIT.format(examples)}"


ANALYSES: dict[str, Analysis] = {}
"""Every analysis whose module was imported, by its name."""


def analysis(
    title: str,
    *parameters: click.Parameter | Sequence[click.Parameter],
    group: str,
    requirements: Sequence[str],
    example: str,
    n_parts: int = 0,
    on_page: BesidePeople | None = None,
) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Make an analysis of a function, which itself stays as it was; arguments are as of `Analysis`,
    parameters in the command's order: see `persona_panel.analyses.parameters`."""
    declared: list[click.Parameter] = []
    for each in parameters:
        declared += [each] if isinstance(each, click.Parameter) else each

    def registered(function: Callable[P, Result]) -> Callable[P, Result]:
        name = function.__name__
        ANALYSES[name] = Analysis(
            name, group, title, function, declared, requirements, example, n_parts, on_page
        )
        return function

    return registered


def analyses_on_page() -> Iterator[Analysis]:
    """Yield the analyses of this package that have sections of a run's page, by name."""
    import persona_panel.analyses as package

    for module in iter_modules(package.__path__):
        if not module.ispkg:
            import_module(f"{package.__name__}.{module.name}")
    yield from (each for _, each in sorted(ANALYSES.items()) if each.on_page is not None)


EPSILON = 0.1
"""Of the alternative annotator test, where none is given: the strictest that its paper advises, for
people from a crowd."""


COMPARED = frozenset(
    f"{name}{where}"
    for name in ("pearson", "tau_b", "human_ceiling_tau_b", "human_difference_tau_b")
    for where in ("", "_within_prompts")
) | {
    "label_kappa", "human_label_kappa", "persona_gain_tau_b", "alt_test_winning_rate",
    "alt_test_advantage", "alt_test_items_needed",
}  # fmt: skip
"""The statistics of the panel beside people that answers and a page have."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RunWithPeople:
    """A run, and people's ratings of its responses.

    Attributes:
        own: the run's ratings, of all responses; `humans` are people's as they were read.
        panel, people: both, of the responses and dimensions that they share.
        names: of both, in faults.
        judges, dimensions: what people read in place of their ids.
        epsilon: of the alternative annotator test.
        inclusion: by item, with which probability people were asked for it; all the same if None.
        fidelity: the contrasts of groups of people; None where groups are not known.
        required: names of statistics that a requirement names.
    """

    run: Run
    own: Ratings
    humans: Ratings
    panel: Ratings
    people: Ratings
    names: tuple[str, str]
    judges: Mapping[str, str]
    dimensions: Mapping[str, str]
    epsilon: float = EPSILON
    inclusion: Mapping[str, float] | None = None
    fidelity: GroupContrasts | None = None
    required: Collection[str] = field(default_factory=tuple)

    @classmethod
    def of(
        cls,
        run: Run,
        humans: Ratings,
        *,
        judges: Mapping[str, str] | None = None,
        dimensions: Mapping[str, str] | None = None,
        epsilon: float = EPSILON,
        inclusion: Mapping[str, float] | None = None,
        fidelity: GroupContrasts | None = None,
        required: Collection[str] = (),
    ) -> Self:
        """Return both, with people's ratings matched to the run's responses.

        Raises:
            InputError: they share no response or no dimension.
        """
        # Only where people have rated.
        from persona_panel.files.aligned_ratings import align_ratings
        from persona_panel.runs.collected import ratings_of
        from persona_panel.statistics.core.display import COMPOSITE

        names = (
            "the run" if run.folder is None else str(run.folder),
            "human ratings" if humans.origin is None else humans.origin.file,
        )
        own = ratings_of(run)
        panel, people = align_ratings(own, humans, *names)
        # The page has its own name for the composite.
        labels = {name: label for name, label in panel.labels.items() if label != COMPOSITE}
        return cls(
            run=run, own=own, humans=humans, panel=panel, people=people, names=names,
            judges=judges or {}, dimensions={**(dimensions or {}), **labels}, epsilon=epsilon,
            inclusion=inclusion, fidelity=fidelity, required=required,
        )  # fmt: skip

    @cached_property
    def rows(self) -> list[Row]:
        """Return the statistics of the panel beside people."""
        from persona_panel.statistics.comparison import correlate
        from persona_panel.statistics.core.arrays import AnalysisOptions

        options = AnalysisOptions(epsilon=self.epsilon)
        return correlate(self.panel, self.people, options, only=COMPARED.union(self.required))

    @property
    def group(self) -> str:
        """Return the group of all judges, in `rows`."""
        *_, group = self.panel.raters_by_group()
        return group

    def first(self, *statistics: str) -> Row:
        """Return the row of the first of these that is defined, of all judges; of the last where
        none is."""
        from persona_panel.statistics.core.table import row_in

        rows = [row_in(self.rows, name, self.group) for name in statistics]
        return next((row for row in rows if not isnan(row.value)), rows[-1])

    @property
    def options(self) -> tuple[str, ...]:
        """Return the words of a command that has people's ratings, `RATINGS` where they are of no
        file."""
        from persona_panel.statistics.core.table import RatingsOrigin

        return (self.humans.origin or RatingsOrigin("", "")).options

    @cached_property
    def calibrated(self) -> Calibration | None:
        """Return the panel's means corrected by people's ratings; None where people gave ranks.

        Raises:
            InputError: people name systems or prompts that the run does not have.
        """
        if self.people.lower_is_better:
            return None
        from persona_panel.files.ratings import check_calibration
        from persona_panel.files.selections import inclusion_of
        from persona_panel.statistics.calibration import calibrate

        check_calibration(self.panel, self.people, *self.names)
        chances = None
        if self.inclusion is not None:
            chances = inclusion_of(self.inclusion, self.panel, self.people, self.names[1])
        return calibrate(self.panel, self.people, inclusion=chances)


BesidePeople = Callable[[RunWithPeople], Iterator[Result]]
"""Yields the results that a page has beside people's ratings; nothing where the analysis has
nothing to say of them."""


def command_on(
    run: Run,
    name: str,
    options: Mapping[str, str | int] | None = None,
    people: RunWithPeople | None = None,
) -> str:
    """Return a command on a run's folder, `RUN` where it has none; with people's ratings, `RATINGS`
    where they are of no file."""
    return command_line(
        name, [folder_named(run)], options, () if people is None else people.options
    )


def folder_named(run: Run) -> str:
    """Return a run's folder as commands have it; `RUN` where it has none."""
    return "RUN" if run.folder is None else shown_folder(run.folder)


def beside_people(run: Run) -> RunWithPeople | None:
    """Return a run beside the people's ratings that it has; None where it has none."""
    if run.humans is None:
        return None
    if "people" not in run.computed or run.computed["people"].humans is not run.humans:
        run.computed["people"] = RunWithPeople.of(run, run.humans)
    people: RunWithPeople = run.computed["people"]
    return people


def once_per_run(
    function: Callable[Concatenate[Run, _Args], _Computed],
) -> Callable[Concatenate[Run, _Args], _Computed]:
    """Make a function that for a run, and the same further arguments, is called once, until a
    judgment is added or `random` set."""

    @wraps(function)
    def computed(run: Run, /, *args: _Args.args, **kwargs: _Args.kwargs) -> _Computed:
        further = args, tuple(kwargs.items())
        key = function.__module__, function.__qualname__, run.random, further
        if key not in run.computed:
            run.computed[key] = function(run, *args, **kwargs)
        result: _Computed = run.computed[key]
        return result

    return computed
