"""Ratings by response, persona and model, and how far each lies from the panel's.

A rating is compared with those that the same model gave to the same response for other personas:
so a gap of one model moves nobody's departure by that model's level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from persona_panel.statistics.core.arrays import Array, IntArray, divide, encode_labels


@dataclass(frozen=True, slots=True, eq=False)
class PersonaCells:
    """Ratings with personas crossed with columns.

    Attributes:
        values: `(responses, personas, columns, terms)`, NaN where there is none. Columns are the
            models, replicates averaged; of one model its replicates.
        personas, models: their names.
    """

    values: Array
    personas: tuple[str, ...]
    models: tuple[str, ...]

    @classmethod
    def of(cls, ratings: Array, personas: Sequence[str], models: Sequence[str]) -> PersonaCells:
        """Of ratings `(responses, judges, terms)` with the persona and the model of each judge."""
        n, n_judges, n_terms = ratings.shape
        names, persona = encode_labels(personas, n_judges)
        of_models, model = encode_labels(models, n_judges)
        if len(of_models) > 1:
            column = model
        else:
            seen = [0] * len(names)
            column = np.zeros(n_judges, dtype=np.intp)
            for judge, place in enumerate(persona):
                column[judge] = seen[place]
                seen[place] += 1
        shape = (n, len(names), int(column.max(initial=-1)) + 1, n_terms)
        # Judge by judge: of a large run, each further copy of all ratings is much memory.
        values, counts = np.zeros(shape), np.zeros(shape, dtype=np.uint16)
        for judge in range(n_judges):
            there = ~np.isnan(ratings[:, judge])
            values[:, persona[judge], column[judge]] += np.where(there, ratings[:, judge], 0.0)
            counts[:, persona[judge], column[judge]] += there
        values[counts == 0] = np.nan
        np.divide(values, counts, out=values, where=counts > 1)
        return cls(values, tuple(map(str, names)), tuple(map(str, of_models)))

    @property
    def whole(self) -> Array:
        """The mean over terms `(responses, personas, columns)`, NaN where one is missing or there
        is no term."""
        if not self.values.shape[3]:
            return np.full(self.values.shape[:3], np.nan)
        mean: Array = self.values.mean(axis=3)
        return mean


def mean_there(values: Array, axis: int) -> Array:
    """The mean over an axis of what is there, NaN where nothing is."""
    there = ~np.isnan(values)
    counts = there.sum(axis=axis)
    sums = np.where(there, values, 0.0).sum(axis=axis)
    return divide(sums, counts)


def departures(values: Array) -> Array:
    """Return how far each persona's rating is above the mean of all personas' by the same model on
    the same response: the shape of `values`, `(responses, personas, columns, …)`; NaN where there
    is no rating, or no other persona's.

    >>> departures(np.array([[[6.0], [4.0], [np.nan]]])).tolist()
    [[[1.0], [-1.0], [nan]]]
    """
    counts = (~np.isnan(values)).sum(axis=1, keepdims=True)
    means = np.expand_dims(mean_there(values, 1), 1)
    return np.where(counts > 1, values - means, np.nan)


def without_severity(values: Array) -> Array:
    """Departures less the judge's median departure over all responses: what it sees in this
    response beyond being lenient or severe. Args and result as of `departures`.

    The median: a response on which a judge is far off moves a mean, and with it what the judge
    seems to see in all others.
    """
    from_panel = departures(values)
    known = (~np.isnan(from_panel)).any(axis=0)
    severity = np.full(from_panel.shape[1:], np.nan)
    severity[known] = np.nanmedian(from_panel[:, known], axis=0)
    beyond: Array = from_panel - severity[None]
    return beyond


def means_by(values: Array, codes: IntArray, n: int) -> Array:
    """The mean of values `(responses, …)` in each of `n` groups, of what is there `(n, …)`."""
    there = ~np.isnan(values)
    sums, counts = np.zeros((n, *values.shape[1:])), np.zeros((n, *values.shape[1:]))
    np.add.at(sums, codes, np.where(there, values, 0.0))
    np.add.at(counts, codes, there)
    return divide(sums, counts)
