"""Rating files as `agree` and `people correlate` read them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np


def made_up(path: Path, *, n_raters: int = 4, seed: int = 0) -> np.ndarray:
    """Ratings 1-5 of 24 items of 6 prompts by one group, a few missing; as they were written."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(24, 1))
    scores = np.clip(np.round(3 + quality + 0.7 * rng.normal(size=(24, n_raters))), 1, 5)
    scores[rng.random(scores.shape) < 0.1] = np.nan
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "rater", "score", "prompt", "source"])
        for item, row in enumerate(scores):
            for rater, score in enumerate(row):
                said = "?" if np.isnan(score) else int(score)
                writer.writerow([f"i{item}", f"r{rater}", said, f"p{item // 4}", f"s{item % 4}"])
    return scores
