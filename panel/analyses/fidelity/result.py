"""What a comparison of groups has found: frozen, and as rows, sentences and data frames."""

from __future__ import annotations

from dataclasses import dataclass

from persona_panel.results.conclusions.fidelity import contrast_label, fidelity_conclusion
from persona_panel.statistics.core.coverage import Coverage
from persona_panel.statistics.core.display import Facts, ends
from persona_panel.statistics.core.frames import FrameColumn, FrameMethod, field_columns
from persona_panel.statistics.core.origin import RatingsOrigin
from persona_panel.statistics.fidelity.contrast import FidelityContrast


def fidelity_columns(found: FidelityReport) -> list[FrameColumn]:
    """A data frame with one row for each contrast, stratum and dimension.

    Columns: the fields of `persona_panel.statistics.fidelity.contrast.FidelityContrast`.
    """
    rows = found.rows
    return [
        *field_columns(rows, "text", "contrast", "stratum", "dimension"),
        *field_columns(rows, "flag", "control"),
        *field_columns(rows, "number", "human", "human_ci_low", "human_ci_high"),
        *field_columns(rows, "number", "panel", "panel_ci_low", "panel_ci_high"),
        *field_columns(rows, "number", "ratio", "ratio_ci_low", "ratio_ci_high"),
        *field_columns(rows, "text", "verdict", "reason"),
        *field_columns(rows, "number", "difference", "difference_ci_low", "difference_ci_high"),
        *field_columns(rows, "flag", "exceeds"),
        *field_columns(rows, "number", "split_half"),
        *field_columns(rows, "whole", "n_items", "n_prompts"),
        *field_columns(rows, "whole", "n_raters", "n_raters_a", "n_raters_b"),
        *field_columns(rows, "text", "human_over", "panel_over"),
        *field_columns(rows, "whole", "n_tests"),
    ]


@dataclass(frozen=True, slots=True, repr=False)
class FidelityReport:
    """People's and personas' differences between groups.

    Attributes:
        rows: one for each contrast, stratum and dimension, null controls last.
        notes: what was left out.
        coverage: how many judgments the panel's run has, and lacks; see `Ratings`.
        people: how people's ratings were read, and how many of their items the panel has.
    """

    rows: tuple[FidelityContrast, ...]
    notes: tuple[str, ...] = ()
    coverage: Coverage | None = None
    people: RatingsOrigin | None = None

    to_frame = FrameMethod(fidelity_columns)
    """See `persona_panel.analyses.fidelity.result.fidelity_columns`."""

    def conclusion(self) -> list[str]:
        """What is established, and what is not, in sentences."""
        return fidelity_conclusion(self.rows)

    def __repr__(self) -> str:
        return self._facts().text

    def _repr_html_(self) -> str:
        return self._facts().html()

    def _facts(self) -> Facts:
        several = len({row.dimension for row in self.rows}) > 1
        heads = ("contrast", "stratum", "dimension", "people", "personas", "ratio", "verdict")
        return Facts(
            "FidelityReport",
            [f"{contrast_label(row, several)}: {row.verdict}" for row in self.rows],
            heads,
            [
                (
                    row.contrast,
                    row.stratum,
                    row.dimension,
                    row.human,
                    row.panel,
                    ends(row.ratio_ci_low, row.ratio_ci_high),
                    row.verdict,
                )
                for row in self.rows
            ],
        )
