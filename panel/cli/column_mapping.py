"""The option for columns of a file that have other names than its fields."""

from __future__ import annotations

from collections.abc import Callable

from persona_panel.analyses.parameters import COLUMNS_OF_RATINGS as COLUMNS_OF_RATINGS
from persona_panel.analyses.parameters import columns, ratings
from persona_panel.cli.options import Command, with_parameters


def column_mapping(
    file: str, example: str, name: str = "--map", *, parameter: str = "mapping"
) -> Callable[[Command], Command]:
    """Declare the option; see `persona_panel.analyses.parameters.columns`."""
    return with_parameters(columns(file, example, name, parameter))


def ratings_argument(name: str) -> Callable[[Command], Command]:
    """Declare a run's folder or ratings; see `persona_panel.analyses.parameters.ratings`."""
    return with_parameters(*ratings(name))
