"""Every sentence of a command's conclusion, and its next step, is one that a pattern knows, and is
what the result's tables say, over random inputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from persona_panel import InputError
from persona_panel.results.result import Result
from tests.helpers.analysis_sentences import FIDELITY, SELECT, tables_of
from tests.helpers.comparison_sentences import COMPARE
from tests.helpers.experiment_sentences import BIAS, INJECTION, KEYPOINTS, STUDY
from tests.helpers.random_comparisons import random_comparison
from tests.helpers.random_experiments import (
    random_bias,
    random_injection,
    random_key_points,
    random_study,
)
from tests.helpers.random_results import random_fidelity, random_select
from tests.helpers.sentences import Beside, Check, read

N = 120


Made = tuple[Result, dict[str, Any]]


class Read(NamedTuple):
    """A command whose sentences are read: a result for a seed and an empty folder, with what else
    the checks need; and the patterns."""

    made: Callable[[int, Path], Made]
    patterns: Mapping[str, Check]


def without_files(made: Callable[[int], Made]) -> Callable[[int, Path], Made]:
    return lambda seed, folder: made(seed)


COMMANDS = {
    "audit bias": Read(without_files(random_bias), BIAS),
    "audit injection": Read(without_files(random_injection), INJECTION),
    "compare": Read(random_comparison, COMPARE),
    "fidelity": Read(without_files(random_fidelity), FIDELITY),
    "keypoints": Read(without_files(random_key_points), KEYPOINTS),
    "select": Read(without_files(random_select), SELECT),
    "study": Read(without_files(random_study), STUDY),
}


def results(name: str, folder: Path) -> Iterator[tuple[Result, Beside]]:
    """Results of random inputs, those that a command refuses left out; the patterns that were met
    are kept for all of them."""
    kinds = set[str]()
    for seed in range(N):
        try:
            result, more = COMMANDS[name].made(seed, folder / str(seed))
        except InputError:
            continue
        yield result, Beside(tables_of(result, **more), kinds=kinds)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_sentence_contradicts_the_tables(name: str, tmp_path: Path) -> None:
    """Each sentence is known and true, each pattern is met, and with another number in its place a
    sentence is false. In short no result is longer than a screen."""
    patterns, faults, met = COMMANDS[name].patterns, [], set[str]()
    for place, (result, beside) in enumerate(results(name, tmp_path)):
        assert place % 10 or len(result.text().splitlines()) <= 24
        for sentence in [*result.conclusion, *filter(None, [result.next_step])]:
            if fault := read(sentence, beside, patterns):
                faults.append(fault)
            elif len(beside.kinds) > len(met):
                faults += [
                    f"taken for true: {false}"
                    for false in falsified(sentence)
                    if read(false, beside, patterns) is None
                ]
                met = set(beside.kinds)
    assert not faults, "\n".join(faults[:20])
    assert met == patterns.keys(), patterns.keys() - met


OPPOSITES = (
    ("higher", "lower"), ("lenient", "severe"), ("own", "other"), ("first", "second"),
    ("for", "against"), ("pro", "con"), ("fewer", "more"),
)  # fmt: skip
TURNED = {a: b for pair in OPPOSITES for a, b in (pair, pair[::-1])}


def falsified(sentence: str) -> Iterator[str]:
    """The sentence with each of its numbers in turn replaced by a much larger one, and each word
    that has a direction by its opposite; how many would do stands in no table."""
    wanted = rf"(?<![\w/.,])\d+(?:\.\d+)?(?![\w/])|\b(?:{'|'.join(TURNED)})\b"
    for part in re.finditer(wanted, sentence):
        if not sentence[: part.start()].endswith("about "):
            other = TURNED.get(part[0]) or f"{7 * float(part[0]) + 3:g}"
            yield sentence[: part.start()] + other + sentence[part.end() :]
