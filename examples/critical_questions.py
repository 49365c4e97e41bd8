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

`--judge MODEL` has a model label questions directly, by the rubric `critical-question` and without
a persona, and compares its labels with the people's:

    python examples/critical_questions.py validation.json --judge openai:gpt-4o-mini --limit 200
"""

from __future__ import annotations

import argparse
import csv
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from persona_panel import Panel, Response, load_aligned_ratings
from persona_panel.experiments.questions.match import MEASURES, label_kappa, nearest
from persona_panel.statistics import correlate, correlation

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


def label_directly(document: Mapping[str, Any], model: str, limit: int) -> None:
    """Have a model label the questions, and print κ with the people's labels, and which labels it
    confuses."""
    every = [(name, one) for name, place in document.items() for one in place["cqs"]]
    chosen = random.Random(0).sample(every, min(limit, len(every)))
    responses = [
        Response(
            id=question["id"],
            prompt=f"Ask a critical question about {name}.",
            prompt_id=name,
            text=question["cq"],
            system="questions",
            context=document[name]["intervention"],
        )
        for name, question in chosen
    ]
    with TemporaryDirectory() as folder:
        Panel("none", model, "critical-question").score(responses, out=Path(folder) / "run")
        with (Path(folder) / "people.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["item", "rater", "label"])
            writer.writerows(
                [f"{name}/{question['id']}", "people", question["label"]]
                for name, question in chosen
            )
        ratings = load_aligned_ratings(Path(folder) / "run", Path(folder) / "people.csv")
    for row in correlate(*ratings):
        if row.statistic == "label_kappa" and row.group != "humans":
            found = f"{row.value:.3f} [{row.ci_low:.3f}, {row.ci_high:.3f}]"
            if row.reason is not None:
                found = f"undefined ({row.reason})"
            print(
                f"Cohen's kappa with the people's labels: {found}, "
                f"{row.n_items} of {len(chosen)} questions labelled"
            )
        elif row.statistic == "confusion" and row.group != "humans":
            print(f"  {row.by}, {row.by_value}: {row.value:.0f}")


def main() -> None:
    """Print a table: for each measure and threshold, what is not evaluable, and kappa."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("path", type=Path, metavar="PATH")
    parser.add_argument("--by", choices=list(THRESHOLDS), action="append", help="repeatable")
    parser.add_argument("--judge", metavar="MODEL", help="label directly by this model instead")
    parser.add_argument("--limit", type=int, default=200, metavar="N", help="questions to label")
    parser.add_argument(
        "--references", type=int, nargs="+", metavar="N", help="numbers of references to draw"
    )
    options = parser.parse_args()
    document = json.loads(options.path.read_text(encoding="utf-8"))
    if options.judge:
        label_directly(document, options.judge, options.limit)
        return
    groups = [
        [(question["cq"], question["label"].lower()) for question in intervention["cqs"]]
        for intervention in document.values()
    ]
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


if __name__ == "__main__":
    main()
