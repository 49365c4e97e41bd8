"""How widely people's ratings of each item are spread."""

import numpy as np

from persona_panel import Result, load_ratings
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics import Estimate, jackknife, resampled_mean


def spread(ratings: str) -> Result:
    """Measure the mean range of the ratings of an item, of each dimension."""
    read = load_ratings(ratings)
    rows, means = [], []
    for place, dimension in enumerate(read.dimensions):
        ranges = np.ptp(read.scores[:, :, place], axis=1)
        ci = jackknife(resampled_mean(ranges), len(ranges), read.prompts, kind="mean")
        mean = Estimate(float(np.nanmean(ranges)), ci.low, ci.high, reason=ci.reason)
        means.append(mean)
        rows.append({"dimension": dimension, "spread": mean})
    key = Key("dimension", "dimension", set(read.dimensions))
    columns = (Column("spread", "estimate", "mean range", better="lower", figure="spread"),)
    table = Table("spread", (key,), columns, rows, "Spread of the ratings of an item")
    sentence = f"The mean range of an item's ratings is {means[0].number()} points."
    return Result("spread", [sentence], (table,), source=ratings)
