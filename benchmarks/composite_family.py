"""What claims cost and find where a composite is tested beside its dimensions.

Differences of two systems over prompts are normal, correlated by 0.5 between dimensions, and tested
by Student's t; the composite is their mean. Compared are the composite and the dimensions as
families of their own, each at 5 %; the composite first, and dimensions only where it is shown; Holm
over all of them; and `holm_of_two`, which the package takes.

    python -m benchmarks.composite_family [--tables 3000] [--prompts 12] [--dimensions 5]

Printed are the share of tables with any false claim, that in which the composite is claimed, and
how many of the dimensions that differ are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from scipy import stats

from persona_panel.statistics.core.arrays import Array, Mask
from persona_panel.statistics.core.significance import holm, holm_of_two

LEVEL, CORRELATION, EFFECT = 0.05, 0.5, 2.8
"""A dimension that differs does so by `EFFECT` standard errors."""
_Claims = tuple[bool, Mask]


def separate(composite: float, dimensions: Array) -> _Claims:
    return composite < LEVEL, holm(dimensions) < LEVEL


def in_order(composite: float, dimensions: Array) -> _Claims:
    return composite < LEVEL, (holm(dimensions) < LEVEL) & (composite < LEVEL)


def all_together(composite: float, dimensions: Array) -> _Claims:
    first, *rest = holm([composite, *dimensions]) < LEVEL
    return bool(first), np.array(rest)


def halves(composite: float, dimensions: Array) -> _Claims:
    first, rest = holm_of_two([composite], dimensions)
    return bool(first[0] < LEVEL), rest < LEVEL


PROCEDURES: dict[str, Callable[[float, Array], _Claims]] = {
    "families of their own": separate,
    "composite first": in_order,
    "Holm over all": all_together,
    "half of the level each": halves,
}


def measured(effects: Array, prompts: int, tables: int) -> dict[str, tuple[float, float, float]]:
    """Of each procedure the share of tables with a false claim, that in which the composite is
    claimed, and the mean number of the dimensions that differ and are claimed."""
    rng = np.random.default_rng([prompts, len(effects)])
    found = {name: np.zeros(3) for name in PROCEDURES}
    differ = effects != 0
    for _ in range(tables):
        shared, own = rng.normal(size=(prompts, 1)), rng.normal(size=(prompts, len(effects)))
        values = np.sqrt(CORRELATION) * shared + np.sqrt(1 - CORRELATION) * own
        values += effects * EFFECT / np.sqrt(prompts)
        composite, *rest = stats.ttest_1samp(
            np.column_stack([values.mean(axis=1), values]), 0
        ).pvalue
        for name, procedure in PROCEDURES.items():
            first, claimed = procedure(float(composite), np.array(rest))
            false = first and effects.sum() == 0
            found[name] += false or claimed[~differ].any(), first, claimed[differ].sum()
    return {name: tuple(sums / tables) for name, sums in found.items()}


def main() -> None:
    """A line for each kind of effect and procedure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=3000)
    parser.add_argument("--prompts", type=int, default=12)
    parser.add_argument("--dimensions", type=int, default=5)
    options = parser.parse_args()
    places = np.arange(options.dimensions)
    cells = {
        "none differs": 0.0 * places,
        "all differ alike": 1.0 + 0 * places,
        "one differs": 1.0 * (places == 0),
        "two differ, contrary to each other": 1.0 * (places == 0) - (places == 1),
        "half of them differ alike": 1.0 * (places < (options.dimensions + 1) // 2),
    }
    for cell, effects in cells.items():
        print(cell)
        for name, (false, first, rest) in measured(
            effects, options.prompts, options.tables
        ).items():
            print(f"  {name:24} false {false:.3f}, composite {first:.2f}, dimensions {rest:.2f}")


if __name__ == "__main__":
    main()
