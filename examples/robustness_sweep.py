"""Does an author keep the quality of an argument when the person who asks pushes?

    python examples/robustness_sweep.py [PROMPTS]

Runs top to bottom with the embedded model and without a key, in some minutes; with the first
PROMPTS of the three prompts of its first part, in less. Both parts show how a sweep is run and
read, and nothing about anybody: SmolLM2-135M is no judge, and three prompts can show no effect
of any size.
"""

import math
import sys
from pathlib import Path

from persona_panel import Panel, Persona, load_framed_responses, load_prompts

HERE = Path(__file__).parent
READERS = [
    Persona(
        id="librarian",
        label="Librarian",
        axis="annotator",
        description="You keep a public library, and look for sources that a reader could find.",
    ),
    Persona(
        id="mediator",
        label="Mediator",
        axis="annotator",
        description="You settle quarrels, and want to hear each side as it would put itself.",
    ),
]
n_prompts = int(sys.argv[1]) if len(sys.argv) > 1 else 3
panel = Panel(READERS, "local:smollm2-135m")

# 1. Responses that are there already: three prompts, each asked as it is, with strong feeling
#    for and against, and merely reworded. Only the judges are called.
answered = load_framed_responses(HERE / "framed_responses.csv")
chosen = list(dict.fromkeys(one.prompt_id for one in answered))[:n_prompts]
sweep = panel.sweep(responses=[one for one in answered if one.prompt_id in chosen])
print("scores", sweep.scores.shape, "(systems, prompts, conditions, dimensions)")
print("delta ", sweep.delta.shape, "baseline - framed: a positive delta is a degradation")
for cell in sweep.cells:
    if cell.dimension == "pluralistic_engagement":
        delta = cell.delta
        interval = f"{delta.ci_low:+.2f} to {delta.ci_high:+.2f}"
        if math.isnan(delta.ci_low):
            interval = "one prompt has no interval"
        print(f"  {cell.condition:<18} {delta.value:+.2f} ({interval}), {delta.n_pairs} prompts")
for gap in sweep.gaps:
    if gap.dimension == "pluralistic_engagement":
        print(f"  gap {gap.contrast.id}: {gap.gap.value:+.2f}")
for profile in sweep.profiles:
    print(f"{profile.system}: {profile.in_words(sweep.labels)}")

# 2. The whole way: rewrite, answer, judge. Real models go into `targets` and `rewriters`, as
#    specs: openai:gpt-4o, anthropic:claude-sonnet-4-5. The embedded model repeats its
#    instructions rather than follow them; the checks find that out, and what fails them is
#    reported and left out.
prompts = load_prompts(HERE / "prompts.jsonl", limit=1)
sweep = panel.sweep(prompts, targets="local:smollm2-135m", words=40)
print(f"{sum(variant.used for variant in sweep.variants)} variants of 5 passed their checks")
for variant in sweep.rejected:
    print(f"  {variant.condition}: {'; '.join(variant.faults)}")
