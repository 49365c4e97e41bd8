"""Every sentence of a command's conclusion is one that a pattern knows, and is what the result's
tables say, over random inputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import pytest

from persona_panel.results.result import Result
from tests.helpers.analysis_sentences import FIDELITY, SELECT, tables_of
from tests.helpers.random_results import random_fidelity, random_select
from tests.helpers.sentences import Beside, Check, read

N = 120


class Read(NamedTuple):
    """A command whose sentences are read: a result for a seed, and the patterns."""

    made: Callable[[int], Result]
    patterns: Mapping[str, Check]
    n: int = N


COMMANDS = {
    "select": Read(random_select, SELECT),
    "fidelity": Read(random_fidelity, FIDELITY),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_sentence_contradicts_the_tables(name: str) -> None:
    """Each sentence is known and true, and each pattern is met."""
    command, faults, kinds = COMMANDS[name], [], set[str]()
    for seed in range(command.n):
        result = command.made(seed)
        beside = Beside(tables_of(result), kinds=kinds)
        faults += [
            f"{seed}: {fault}"
            for sentence in result.conclusion
            if (fault := read(sentence, beside, command.patterns))
        ]
    assert not faults, "\n".join(faults[:20])
    assert kinds == command.patterns.keys(), command.patterns.keys() - kinds
