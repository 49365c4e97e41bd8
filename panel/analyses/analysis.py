"""The decorator that makes an analysis of a function, and the analyses that there are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import ParamSpec

import click

from persona_panel.analyses.on_page import BesidePeople
from persona_panel.results.result import Result

P = ParamSpec("P")

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
