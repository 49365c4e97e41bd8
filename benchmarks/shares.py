"""How often something happens in simulated data, by the number of prompts."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import numpy as np

Event = Callable[[np.random.Generator, int], bool]
"""Whether it happens in data that are drawn, of so many prompts."""


def print_shares(description: str | None, events: Mapping[str, Event], prompts: str) -> None:
    """The command of a benchmark: a line for each event, with the share of runs in which it
    happens.

    Args:
        description: of the benchmark, for `--help`.
        events: by their names.
        prompts: the numbers of prompts where none are given.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--prompts", default=prompts)
    parser.add_argument("--only", default="", help="those whose name has this in it")
    options = parser.parse_args()
    for name, happens in events.items():
        if options.only not in name:
            continue
        told = []
        for n_prompts in map(int, options.prompts.split(",")):
            draw = np.random.default_rng(n_prompts)
            times = sum(happens(draw, n_prompts) for _ in range(options.runs))
            told.append(f"{times / options.runs:.3f} with {n_prompts} prompts")
        print(f"{name}: {', '.join(told)}", flush=True)
