"""Output formats for results: one renderer a file, found by its name.

A renderer is a module of this package (`json.py`, or a package such as `terminal`) with the
functions of `Renderer`, one for each kind of result. Another distribution adds a format by the
entry point group `persona_panel.renderers`, with a module or any object that has these functions:

    [project.entry-points."persona_panel.renderers"]
    asciidoc = "my_package.asciidoc"

Every command that prints a result then takes `--format asciidoc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TextIO, cast

if TYPE_CHECKING:
    from persona_panel.experiments.keypoints.report import KeyPointReport
    from persona_panel.experiments.prompt_sets.building import BuiltPrompts
    from persona_panel.results.result import ResultFormat
    from persona_panel.statistics import Alignment

_GROUP = "persona_panel.renderers"


class Renderer(Protocol):
    """What an output format provides. Each function writes one kind of result, as text, to the
    open stream `to`; it changes nothing in the result, and computes no statistic of its own.

    A command's stream masks keys and escapes what is no visible character; it is no terminal, so
    that styles and colours would be escaped, too.
    """

    def render_prompt_set(self, built: BuiltPrompts, to: TextIO) -> None:
        """A set of prompts that was built, with its funnel."""

    def render_alignment(self, found: Alignment, full: bool, to: TextIO) -> None:
        """A panel's scores aligned with people's, with figures on held-out prompts; in short or in
        `full`."""

    def render_key_points(self, report: KeyPointReport, to: TextIO) -> None:
        """The key points of judges' rationales."""


def renderer_names() -> tuple[str, ...]:
    """The names of all renderers, in alphabetical order."""
    # Imported here: this package is imported before `--help`, which needs no pydantic.
    from persona_panel.rubrics.extensions import extension_names

    return extension_names(__name__, _GROUP)


def load_renderer(name: str) -> Renderer:
    """The renderer called `name`.

    Raises:
        KeyError: there is none of that name.
        ConfigurationError: another distribution's cannot be imported.
    """
    from persona_panel.files.errors import ConfigurationError
    from persona_panel.rubrics.extensions import ExtensionError, load_extension

    try:
        return cast(Renderer, load_extension(__name__, _GROUP, name))
    except ExtensionError as error:
        raise ConfigurationError(str(error)) from error


def result_format_of(renderer: Renderer) -> ResultFormat:
    """Return the format of results that has the name of a renderer."""
    from persona_panel.results.result import load_format

    return load_format(next(one for one in renderer_names() if load_renderer(one) is renderer))
