"""A set of prompts that was built, as a result: its funnel, its writers, its diversity."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import Any

from persona_panel.experiments.prompt_sets.building import (
    BuiltPrompts,
    cross_diversity,
    mean_disagreement,
    n_passed,
    overall_diversity,
    writer_summaries,
)
from persona_panel.experiments.prompt_sets.filters import MeanDiversity
from persona_panel.experiments.prompt_sets.plan import PromptSetPlan
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, row_of
from persona_panel.statistics.core.estimate import Estimate

_HOW_TO_READ = (
    "Functional diversity: the share of pairs of prompts from one item or template in which a "
    "strong answer to one would not do for the other, over bundles of such prompts; with its "
    "standard error (SE)."
)


def planned_prompt_set(plan: PromptSetPlan) -> Result:
    """Return the result of a set before it is built: it has the figures' names."""
    nothing = BuiltPrompts(plan, (), plan.funnel, plan.dropped, {}, (), (), {}, {}, {})
    return prompt_set_result(nothing)


def prompt_set_result(built: BuiltPrompts) -> Result:
    """Return how many prompts there are, the funnel, who wrote them, and how diverse they are."""
    unit = Key("unit", "of", labels={"item": "items", "prompt": "prompts"})
    step = Key("step", "step")
    of_steps = (
        Column("entered", "whole", "entered"),
        Column("dropped", "whole", "dropped"),
        Column("kept", "whole", "kept"),
    )
    of_writers = (
        Column("answered", "whole", "items\nanswered", of="items"),
        Column("items", "whole"),
        Column("written", "whole", "prompts"),
        Column("kept", "whole", "kept"),
        Column("drawn", "whole", "in the\nset"),
        *_OF_DIVERSITY,
    )
    among = (
        ("all", "prompts of one item or template", overall_diversity(built)),
        ("writers", "prompts of two writers", cross_diversity(built)),
    )
    measured = [(name, label, mean) for name, label, mean in among if not isnan(mean.mean)]
    n_pairs = sum(equivalent is not None for equivalent in built.equivalent.values())
    tables = [
        Table(
            "funnel",
            (unit, step),
            of_steps,
            [
                row_of(each, of_steps, unit=each.unit, step=each.step,
                       dropped=each.entered - each.kept)
                for each in built.funnel
            ],
            "Funnel",
        ),
        Table(
            "reasons",
            (unit, step, Key("reason", "why dropped")),
            (Column("n", "whole", "dropped"),),
            [
                {"unit": each.unit, "step": each.step, "reason": reason, "n": n}
                for each in built.funnel for reason, n in each.reasons.items()
            ],
            "Why prompts and items were dropped",
        ),
        Table(
            "writers",
            (Key("writer", "model"),),
            of_writers,
            [
                row_of(each, of_writers, writer=each.writer, **_diversity(each.diversity))
                for each in writer_summaries(built)
            ],
            "Prompts by writer",
        ),
        Table(
            "diversity",
            (Key("among", "among", ("all",), {name: label for name, label, _ in among}),),
            _OF_DIVERSITY,
            [{"among": name, **_diversity(mean)} for name, _, mean in among],
            f"Functional diversity ({counted(n_pairs, 'pair')} compared)" if measured else "",
        ),
        Table(
            "set",
            (),
            (
                Column("prompts", "whole", figure="prompts"),
                Column("passed_by_a_model", "whole", figure="passed"),
                Column("mean_disagreement", "number"),
                Column("whole", "flag"),
            ),
            [
                {
                    "prompts": len(built.prompts), "passed_by_a_model": n_passed(built),
                    "mean_disagreement": mean_disagreement(built), "whole": not built.pending,
                }
            ],
        ),
        Table(
            "pending",
            (Key("step"),),
            (Column("n", "whole"),),
            [{"step": name, "n": n} for name, n in built.pending.items()],
        ),
    ]  # fmt: skip
    remarks = [_HOW_TO_READ] if measured else []
    return Result("prompts", list(_conclusion(built)), tables, remarks)


_OF_DIVERSITY = (
    Column("diversity", "estimate", "functional\ndiversity", figure="diversity"),
    Column("se", "number", "SE"),
    Column("n_bundles", "whole", "bundles"),
)


def _diversity(mean: MeanDiversity) -> dict[str, Any]:
    value = Estimate(mean.mean, limits=(0.0, 1.0))
    return {
        "diversity": value,
        "se": None if isnan(mean.se) else mean.se,
        "n_bundles": mean.n_bundles,
    }


def _conclusion(built: BuiltPrompts) -> Iterator[str]:
    """Say how many prompts there are, or what is missing; how many a model passes, where those that
    none passes are kept, too."""
    if built.pending:
        missing = ", ".join(f"{n:,} of {step}" for step, n in built.pending.items())
        yield f"The set is not whole: calls without an answer ({missing})."
        return
    n, strata = len(built.prompts), len({each.stratum for each in built.prompts})
    prompts = counted(n, "prompt")
    over = f" in {strata} strat{'um' if strata == 1 else 'a'}" if n else ""
    yield f"{prompts}{over}, from {len(built.written):,} that were made."
    wanted, passed = built.plan.spec.quality, n_passed(built)
    if wanted is None or wanted.needed or not n or passed == n:
        return
    if not passed:
        yield f"No model passes any of the {prompts}: needed: 0 drops none for that."
    else:
        yield f"{passed:,} of the {prompts} are passed by a model: needed: 0 drops none for that."
