"""How well references tell the label of a critical question, by measure and threshold.

Each human-labelled question is held, as if it were a new one, against the other questions
about its intervention, and takes over the label of the most similar; that is compared with
its own. PATH is validation.json of github.com/hitz-zentroa/Benchmarking_CQs-Gen:

    pip install 'persona-panel[questions]'
    python examples/critical_questions.py validation.json

`--by chrf` or `--by similarity` leaves the other measure out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from panel.questions.match import MEASURES
from panel.questions.matching import label_kappa, nearest

THRESHOLDS = {
    "similarity": (0.0, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9),
    "chrf": (0.0, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6),
}


def leave_one_out(by: str, texts: Sequence[str]) -> np.ndarray:
    """Each question's similarity to each other one, and to itself below any threshold."""
    similarities = MEASURES[by](texts, texts)
    np.fill_diagonal(similarities, -np.inf)
    return similarities


def main() -> None:
    """Print a table: for each measure and threshold, what is not evaluable, and kappa."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path, metavar="PATH")
    parser.add_argument("--by", choices=list(THRESHOLDS), action="append", help="repeatable")
    options = parser.parse_args()
    document = json.loads(options.path.read_text(encoding="utf-8"))
    groups = [
        [(question["cq"], question["label"].lower()) for question in intervention["cqs"]]
        for intervention in document.values()
    ]
    human = [label for group in groups for _, label in group]
    print(f"{len(groups)} interventions, {len(human)} questions, "
          f"{human.count('useful') / len(human):.0%} useful")  # fmt: skip
    print(f"{'measure':<12}{'threshold':>9}{'not evaluable':>15}{'kappa':>8}{'questions':>11}")
    for by in options.by or THRESHOLDS:
        tables = [leave_one_out(by, [text for text, _ in group]) for group in groups]
        for threshold in THRESHOLDS[by]:
            matched = [
                None if place is None else group[place][1]
                for group, table in zip(groups, tables, strict=True)
                for place in nearest(table, threshold)
            ]
            kappa = label_kappa(matched, human)
            share = matched.count(None) / len(matched)
            print(f"{by:<12}{threshold:>9.2f}{share:>14.1%}{kappa.value:>9.3f}{kappa.n_items:>11}")


if __name__ == "__main__":
    main()
