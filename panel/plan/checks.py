"""What is refused of a panel before anything is called: parts that do not go together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from persona_panel.files.errors import ConfigurationError
from persona_panel.graphs import Judge
from persona_panel.graphs.deliberation import Deliberation, load_stopping_rule
from persona_panel.graphs.records import controls_among
from persona_panel.plan.bound_models import BoundModel, can_serve
from persona_panel.rubrics import (
    CategoryScale,
    Rubric,
    elicitation_names,
    is_comparative,
    load_elicitation,
)
from persona_panel.rubrics.extensions import ExtensionError
from persona_panel.statistics.core.display import general

if TYPE_CHECKING:
    from persona_panel.graphs.judging import Builder


def output_rubric_of(models: Sequence[BoundModel], rubric: Rubric) -> Rubric:
    """The rubric as the ratings of these models come: dimensions, on their scales.

    Raises:
        ConfigurationError: they rate different dimensions, or on different scales. A mean of
            theirs would mix what cannot be compared; gaps would leave no composite.
    """
    by_elicitation = {
        bound.elicitation: load_elicitation(bound.elicitation).output_rubric(rubric)
        for bound in models
    }
    first = next(iter(by_elicitation.values()))
    if all(output_rubric == first for output_rubric in by_elicitation.values()):
        return first
    told = "; ".join(
        f"{' and '.join(bound.id for bound in models if bound.elicitation == name)} by {name!r}, "
        f"which rates {_told(output_rubric)}"
        for name, output_rubric in by_elicitation.items()
    )
    raise ConfigurationError(
        f"the models of a panel must rate the same dimensions on the same scales, and these do "
        f"not: {told}; run them as panels of their own"
    )


def _told(rubric: Rubric) -> str:
    """Dimensions with their scales, those that follow each other on the same one together."""
    parts: list[str] = []
    for scale, group in groupby(rubric.dimensions, key=lambda dimension: dimension.scale):
        names = ", ".join(dimension.id for dimension in group)
        if isinstance(scale, CategoryScale):
            parts.append(f"{names} by {len(scale.names)} categories")
        else:
            parts.append(f"{names} from {general(scale.min)} to {general(scale.max)}")
    return " and ".join(parts)


def refuse_another_graph(graph: Builder, deliberation: Deliberation | None) -> None:
    """A graph of one's own begins as `persona_panel.graphs.judging.builder` gives it.

    Raises:
        ConfigurationError: it lacks a node without which a response is not judged, or the panel
            deliberates and it cannot.
    """
    wanted = ["read", "aggregate"] + (["confer"] if deliberation is not None else [])
    if missing := [name for name in wanted if name not in getattr(graph, "nodes", ())]:
        raise ConfigurationError(
            f"the panel's graph has no node {' and no node '.join(map(repr, missing))}; begin with "
            "persona_panel.graphs.judging.builder(), add nodes to what it gives, and do not "
            "compile it"
        )


def refuse_repeats(models: Sequence[BoundModel], replicates: int) -> None:
    """Several answers of a judge are annotators of their own only where they can differ.

    Raises:
        ConfigurationError: a model would give the same answer each time.
    """
    if replicates == 1:
        return
    for bound in models:
        if bound.repeats:
            raise ConfigurationError(
                f"{bound.id} with the elicitation {bound.elicitation!r} gives the same answer "
                f"every time, so that {replicates} replicates would count one annotator "
                f"{replicates} times; leave replicates out, or set a temperature for the model "
                "in a panel file and use an elicitation that reads its text, such as "
                "'dimensions'"
            )


def refuse_plain_repeats(models: Sequence[BoundModel]) -> None:
    """Replicates of a judge without a persona are compared with personas: they must be able to
    differ as much as any two answers of the model do.

    Raises:
        ConfigurationError: a model would give nearly the same ratings each time.
    """
    for bound in models:
        if bound.repeats or bound.temperature == 0:
            why = f"{bound.id} at temperature 0 gives the same answer"
        elif load_elicitation(bound.elicitation).NEEDS_LOGPROBS:
            why = f"{bound.id} by {bound.elicitation!r} reads the same probabilities"
        else:
            continue
        raise ConfigurationError(
            f"a plain judge is asked as often as there are personas, and {why} every time, so that "
            "personas would be compared with one judgment counted several times; set a temperature "
            "above 0 for the model in a panel file and use an elicitation that reads its text, "
            "such as 'dimensions', or leave the plain judge out (--no-plain-judge)"
        )


def refuse_undivided(models: Sequence[BoundModel], rubric: Rubric) -> None:
    """One dimension a call needs elicitations that rate the rubric's dimensions.

    Raises:
        ConfigurationError: a model's elicitation rates something else.
    """
    for bound in models:
        if not _rates_each_dimension(bound.elicitation, rubric):
            able = [
                repr(name)
                for name in elicitation_names()
                if can_serve(name, rubric) and _rates_each_dimension(name, rubric)
            ]
            raise ConfigurationError(
                f"one dimension per call does not work with the elicitation {bound.elicitation!r} "
                f"of {bound.id}, which weighs all dimensions together; use "
                f"{' or '.join(able)}, or leave it out (--no-one-dimension-per-call)"
            )


def _rates_each_dimension(elicitation: str, rubric: Rubric) -> bool:
    output_rubric = load_elicitation(elicitation).output_rubric(rubric)
    ids = [[dimension.id for dimension in one.dimensions] for one in (output_rubric, rubric)]
    return ids[0] == ids[1]


def refuse_controls(judges: Sequence[Judge], what: str) -> None:
    """A judge without a persona, where others have one, does not go with `what`.

    Raises:
        ConfigurationError: there is one.
    """
    if controls_among(judges):
        raise ConfigurationError(
            f"{what} is of one panel, and this one has a judge without a persona to be compared "
            "with; leave it out (--no-plain-judge, where a panel file has plain_judge: true), or "
            "run a panel of it alone (personas: none)"
        )


def refuse_missing_rationales(
    models: Sequence[BoundModel], deliberation: Deliberation | None
) -> None:
    """Judges can only be shown reasons that are given.

    Raises:
        ConfigurationError: a model's elicitation gives none.
    """
    if deliberation is None or deliberation.reveal == "scores":
        return
    without = [bound for bound in models if not load_elicitation(bound.elicitation).GIVES_REASONS]
    if without:
        told = ", ".join(f"{bound.id} by {bound.elicitation!r}" for bound in without)
        raise ConfigurationError(
            f"deliberation cannot reveal {deliberation.reveal}: {told} gives no rationales; use "
            "the elicitation 'justified', or reveal scores"
        )


def refuse_broken_rule(deliberation: Deliberation | None) -> None:
    """A rule that is to end a deliberation is there before the first call.

    Raises:
        ConfigurationError: another package's cannot be imported, or is no rule.
    """
    if deliberation is None or deliberation.stop_when is None:
        return
    try:
        rule = load_stopping_rule(deliberation.stop_when)
    except ExtensionError as error:
        raise ConfigurationError(str(error)) from error
    if not callable(getattr(rule, "should_stop", None)):
        raise ConfigurationError(
            f"the stopping rule {deliberation.stop_when!r} has no function should_stop(judgments, "
            "rubric); name another in stop_when, or leave it out"
        )


def refuse_if_comparative(models: Sequence[BoundModel], what: str) -> None:
    """Comparisons do not go with `what`, which is about each response by itself.

    Raises:
        ConfigurationError: a model's elicitation compares.
    """
    if comparing := [bound for bound in models if is_comparative(bound.elicitation)]:
        told = ", ".join(f"{bound.id} by {bound.elicitation!r}" for bound in comparing)
        raise ConfigurationError(
            f"{what} needs a rating of each response by itself, and this panel compares "
            f"responses ({told}); use another elicitation, such as 'dimensions'"
        )
