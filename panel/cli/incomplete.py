"""What is said on standard error of a run that lacks judgments: its figures rest on the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from persona_panel.files.secrets.visible import say_sentences, visible

if TYPE_CHECKING:
    from persona_panel.statistics.core.table import Coverage, Ratings


def say_rescaled(ratings: Ratings) -> None:
    """A sentence where figures put dimensions on different scales together, saying how."""
    numeric = ratings.numeric()
    if ratings.comparable_dimensions().scales != numeric.scales and len(numeric.dimensions) > 1:
        say_sentences(
            "Dimensions are on different scales: where they are put together, as in the composite, "
            "each rating counts as the share of its scale's width, from 0 to 1.",
            err=True,
        )


def say_what_is_missing(source: str, coverage: Coverage | None) -> None:
    """A sentence where judgments of a run are missing, as they failed or the run was stopped.

    Args:
        source: the run's folder.
        coverage: as `Ratings` has it; nothing is said where there is none.
    """
    from persona_panel.results.conclusions.wording import missing_judgments

    if coverage is None or not coverage.missing:
        return
    n = sum(coverage.missing.values())
    told = missing_judgments(n, coverage.expected, of=visible(source), by_status=coverage.missing)
    say_sentences(
        f"{told}: figures are of those that are there. Judging the same responses into this folder "
        "again asks for the missing ones alone.",
        err=True,
    )
