"""How well references tell the label of a critical question, by measure and threshold.

Each human-labelled question is held, as if it were a new one, against the other questions
about its intervention, and takes over the label of the most similar; that is compared with
its own. PATH is validation.json of github.com/hitz-zentroa/Benchmarking_CQs-Gen:

    pip install 'persona-panel[questions]'
    python examples/critical_questions.py validation.json

`--by chrf` or `--by similarity` leaves the other measure out. Beside κ stands Pearson's r over
interventions of the share of useful questions by the matched labels and by the people's: how alike
the two would rank what is asked about. `--references` goes through numbers of references in
place of thresholds, each drawn at random from the other questions, at the threshold of `match`:

    python examples/critical_questions.py validation.json --references 1 5 10 15 20

A model labels questions directly by `persona-panel people import critical-questions` and `score
--rubric critical-question --human`; `questions_labelled.py` goes all ways from question to label.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from shared import beside, data_of, where_of

from persona_panel.experiments.question_match import MEASURES, label_kappa, nearest
from persona_panel.statistics import correlation

THRESHOLDS = {
    "similarity": (0.0, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9),
    "chrf": (0.0, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6),
}
OF_MATCH = {"similarity": 0.65, "chrf": 0.35}
"""What `persona-panel questions match` takes."""


def leave_one_out(by: str, texts: Sequence[str]) -> np.ndarray:
    """Each question's similarity to each other one, and to itself below any threshold."""
    similarities = MEASURES[by](texts, texts)
    np.fill_diagonal(similarities, -np.inf)
    return similarities


def drawn_references(similarities: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """The same with `n` references for each question, drawn anew for each from the others."""
    kept = np.full(similarities.shape, -np.inf)
    for row, own in enumerate(similarities):
        others = np.flatnonzero(own > -np.inf)
        chosen = rng.permutation(others)[:n]
        kept[row, chosen] = own[chosen]
    return kept


def show(
    by: str,
    setting: str,
    groups: Sequence[Sequence[tuple[str, str]]],
    tables: Sequence[np.ndarray],
    threshold: float,
) -> None:
    """A line: what is not evaluable, κ with the people's labels, and r over interventions."""
    matched = [
        [None if place is None else group[place][1] for place in nearest(table, threshold)]
        for group, table in zip(groups, tables, strict=True)
    ]
    labels = [label for group in matched for label in group]
    kappa = label_kappa(labels, [label for group in groups for _, label in group])
    # What could not be matched is among an intervention's questions, and not useful.
    useful = np.array(
        [
            [np.mean([label == "useful" for label in own]) for own in (found, given)]
            for found, given in (
                (match, [label for _, label in group])
                for match, group in zip(matched, groups, strict=True)
            )
        ]
    )
    r = correlation(useful[:, 0], useful[:, 1], "pearson")
    share = labels.count(None) / len(labels)
    print(
        f"{by:<12}{setting:>11}{share:>14.1%}{kappa.value:>9.3f}{kappa.n_items:>11}{r.value:>7.2f}"
    )


def main() -> None:
    """Print a table: for each measure and threshold, what is not evaluable, and kappa."""
    about, where = (__doc__ or "").splitlines()[0], where_of("critical-questions")
    parser = argparse.ArgumentParser(description=about, epilog=where)
    parser.add_argument("path", type=Path, nargs="?", metavar="PATH", help="validation.json")
    parser.add_argument("--by", choices=list(THRESHOLDS), action="append", help="repeatable")
    parser.add_argument(
        "--references", type=int, nargs="+", metavar="N", help="numbers of references to draw"
    )
    options = parser.parse_args()
    if options.path is None:
        parser.error(f"PATH is lacking. {where}")
    by_intervention: dict[str, list[tuple[str, str]]] = {}
    for row in data_of("critical-questions", options.path)["responses.jsonl"]:
        by_intervention.setdefault(row["prompt_id"], []).append((row["response"], row["label"]))
    groups = list(by_intervention.values())
    human = [label for group in groups for _, label in group]
    print(f"{len(groups)} interventions, {len(human)} questions, "
          f"{human.count('useful') / len(human):.0%} useful")  # fmt: skip
    setting = "references" if options.references else "threshold"
    print(f"{'measure':<12}{setting:>11}{'not evaluable':>15}{'kappa':>8}{'questions':>11}{'r':>7}")
    for by in options.by or THRESHOLDS:
        tables = [leave_one_out(by, [text for text, _ in group]) for group in groups]
        for n in options.references or ():
            rng = np.random.default_rng(0)
            drawn = [drawn_references(table, n, rng) for table in tables]
            show(by, str(n), groups, drawn, OF_MATCH[by])
        for threshold in () if options.references else THRESHOLDS[by]:
            show(by, f"{threshold:.2f}", groups, tables, threshold)
    beside("critical-questions")


if __name__ == "__main__":
    main()
