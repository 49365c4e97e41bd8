"""Every sentence of an analysis's conclusion is what its tables say, over random runs of many
shapes; an analysis joins by a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from persona_panel import InputError, Run
from persona_panel.analyses.agree import agree
from persona_panel.analyses.align import align
from persona_panel.analyses.calibrate import calibrate
from persona_panel.analyses.contested import contested_result
from persona_panel.analyses.correlate import correlate
from persona_panel.analyses.plan import plan
from persona_panel.analyses.robustness import robustness_result
from persona_panel.analyses.votes import votes_result
from persona_panel.files.ratings import Ratings, load_ratings
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.runs.votes import votes_of
from persona_panel.statistics.core.estimate import Estimate
from tests.helpers.random_runs import random_run
from tests.helpers.result_sentences import read_result

N = 60


class Read(NamedTuple):
    """An analysis whose sentences are read: how a result is made of a run, its ratings and
    people's, which every second run has; what numbers its sentences derive from its tables and the
    run's ratings; and of how many runs, fewer where it is slow."""

    made: Callable[[Run, Ratings, Ratings | None], Result]
    derived: Callable[[Result, Ratings], Iterable[float]] = lambda result, ratings: ()
    n_runs: int = N


def of_widths(result: Result, ratings: Ratings) -> Iterator[float]:
    """How wide corrected intervals are, of people's own; how many prompts a correction needs."""
    yield 8
    # How many responses people rated.
    for dimension in {row["dimension"] for row in result["rows"].rows}:
        yield sum(row["n_human"] for row in result["rows"].rows if row["dimension"] == dimension)
    for row in result["rows"].rows:
        if row["corrected"].has_interval and row["human_only"].has_interval:
            (low, high), (a, b) = row["corrected"].ends, row["human_only"].ends
            yield (high - low) / (b - a)


def of_designs(result: Result, ratings: Ratings) -> Iterator[float]:
    """Shares of errors in percent, how many raters and prompts there are, and from how many of them
    on a variance is not rough."""
    yield from (5, len(ratings.raters), len(set(ratings.prompts or ())))
    for table in result.tables:
        shares = (row.get("error_share") for row in table.rows)
        yield from (100 * share for share in shares if share is not None)


def of_alpha(result: Result, ratings: Ratings) -> Iterator[float]:
    """Krippendorff's levels."""
    yield from (0.667, 0.8)


def file_of(ratings: Ratings) -> str:
    assert ratings.origin is not None
    return ratings.origin.file


ANALYSES = {
    "agree": Read(lambda run, ours, theirs: agree(ours, resamples=99), of_alpha, 30),
    "contested": Read(lambda run, ours, theirs: contested_result(run)),
    "robustness": Read(lambda run, ours, theirs: robustness_result(run), n_runs=30),
    "correlate": Read(
        lambda run, ours, theirs: correlate(ours, needed(theirs), resamples=99), n_runs=30
    ),
    "plan": Read(lambda run, ours, theirs: plan(file_of(ours)), of_designs),
    "votes": Read(lambda run, ours, theirs: votes_result(votes_of(run, ours, theirs))),
    "calibrate": Read(lambda run, ours, theirs: calibrate(ours, needed(theirs)), of_widths),
    "align": Read(lambda run, ours, theirs: align(ours, needed(theirs)), lambda *_: (95, 0.25)),
}


def needed(ratings: Ratings | None) -> Ratings:
    if ratings is None:
        raise InputError([])
    return ratings


def ratings_of(rows: list[dict[str, object]], file: Path) -> Ratings:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return load_ratings(file)


def judged(run: Run) -> list[dict[str, object]]:
    """A line for each score of a run."""
    return [
        {
            "item": f"{item.prompt_id}/{item.id}",
            "rater": judge.id,
            "prompt": item.prompt_id,
            "source": item.system,
            "dimension": dimension,
            "score": float(score),
        }
        for i, item in enumerate(run.items)
        for j, judge in enumerate(run.judges)
        for dimension, score in zip(run.dimensions, run.ratings[i, j], strict=True)
        if not np.isnan(score)
    ]


def by_people(run: Run, seed: int) -> list[dict[str, object]]:
    """What three people say of a random part of the prompts, more or less as the panel does."""
    rng = np.random.default_rng([32, seed])
    noise, rated = float(rng.choice([0.5, 2.0])), float(rng.choice([0.5, 1.0]))
    prompts = {item.prompt_id for item in run.items if rng.random() < rated}
    rows = []
    for row in judged(run):
        if row["prompt"] in prompts and row["rater"] == run.judges[0].id:
            for n in range(3):
                score = min(max(round(float(str(row["score"])) + noise * rng.normal()), 0), 10)
                rows.append({**row, "rater": f"h{n}", "score": score})
    return rows


@pytest.mark.parametrize("name", ANALYSES)
def test_no_sentence_contradicts_the_tables(name: str, tmp_path: Path) -> None:
    """Each number in a conclusion stands in a table, and what is said to be more, fewer or not
    established is so by the interval that is quoted."""
    faults, n_read = [], 0
    for seed in range(ANALYSES[name].n_runs):
        run = random_run(seed)
        try:
            ours = ratings_of(judged(run), tmp_path / "panel.jsonl")
            people = by_people(run, seed) if seed % 2 else []
            theirs = ratings_of(people, tmp_path / "people.jsonl") if people else None
            result = ANALYSES[name].made(run, ours, theirs)
        except InputError:
            continue
        n_read += len(result.conclusion)
        derived = ANALYSES[name].derived(result, ours)
        faults += [f"run {seed}: {fault}" for fault in read_result(result, derived)]
    assert not faults, "\n".join(faults[:20])
    assert n_read > 30


@pytest.mark.parametrize(
    ("sentence", "n_faults"),
    [
        ("ash has 1.00 points more than birch (95 % interval 0.50 to 2.00).", 0),
        ("birch has 1.00 points fewer than ash (95 % interval −2.00 to −0.50).", 0),
        ("ash has 1.00 points fewer than birch (95 % interval 0.50 to 2.00).", 1),
        ("birch has 1.00 points more than ash (95 % interval 0.50 to 2.00).", 1),
        ("It is not significant that ash is higher (95 % interval 0.50 to 2.00).", 1),
        ("ash has 3.00 points more than birch (95 % interval 0.50 to 2.00).", 1),
        ("ash is higher (95 % interval 0.60 to 2.00).", 2),
        ("ash is higher (95 % interval 0.50 to 2.00, p < 0.001).", 1),
        ("About 40 prompts would establish it (now 1).", 0),
        ("About 40 prompts would establish it (now 90).", 2),
    ],
)
def test_a_sentence_that_contradicts_its_table_is_noticed(sentence: str, n_faults: int) -> None:
    """A direction, a doubt, a number, an interval or a bound that the table does not have."""
    row = {"a": "ash", "b": "birch", "difference": Estimate(1, 0.5, 2, p=0.01)}
    columns = (Column("difference", "estimate"),)
    table = Table("differences", (Key("a"), Key("b")), columns, [row], sides=("a", "b"))
    assert len(read_result(Result("made", [sentence], [table]))) == n_faults
