"""The stratified draw: so many prompts, as evenly over the strata as they have them. Pure."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from persona_panel.experiments.prompt_sets.candidates import CandidatePrompt, DroppedPrompt
from persona_panel.experiments.prompt_sets.diversity import grouped

DRAW = "draw"


def drawn(
    candidates: Sequence[CandidatePrompt], n: int, seed: int
) -> tuple[list[CandidatePrompt], list[DroppedPrompt]]:
    """The candidates that are drawn, in their order, and the others.

    Strata take turns, in an order drawn by the seed, each until it has none left. Within a stratum
    the next is one of the writer who has the fewest so far, in the whole draw (scrub.txt, section
    14.2), of those one of the bundle that has the fewest, and of those any.
    """
    generator = random.Random(f"{seed} draw")
    shuffled = generator.sample(list(candidates), len(candidates))
    by_id = {one.id: one for one in shuffled}
    strata = grouped([(one.id, one.stratum) for one in shuffled])
    turns = generator.sample(sorted(strata), len(strata))
    writers: Counter[str | None] = Counter()
    bundles: Counter[str] = Counter()
    chosen: set[str] = set()
    while len(chosen) < min(n, len(candidates)):
        for stratum in turns:
            left = [by_id[name] for name in strata[stratum] if name not in chosen]
            if not left or len(chosen) == n:
                continue
            one = min(left, key=lambda one: (writers[one.writer], bundles[one.bundle]))
            chosen.add(one.id)
            writers[one.writer] += 1
            bundles[one.bundle] += 1
    kept = [one for one in candidates if one.id in chosen]
    why = f"{len(chosen):,} of {len(candidates):,} were drawn"
    dropped = [
        DroppedPrompt(DRAW, "prompt", "not drawn", why, one)
        for one in candidates
        if one.id not in chosen
    ]
    return kept, dropped
