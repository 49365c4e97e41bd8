"""What an audit of injections scores: each response as it is, with controls and with attacks.

By what ways attacks come to a judge is in `persona_panel.experiments.audit.channels`, what they are
held against in `persona_panel.experiments.audit.controls`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from persona_panel.experiments.audit.attacks import Attack, Channel, Prize, prize_of
from persona_panel.experiments.audit.channels import UNSHOWN, Plants, closed, planted, reaches
from persona_panel.experiments.audit.controls import control_of
from persona_panel.experiments.audit.uplift import Rows
from persona_panel.files.errors import ConfigurationError, Fault, InputError
from persona_panel.files.response_batch import identified
from persona_panel.graphs import Response
from persona_panel.plan.panel_plan import refuse_controls

if TYPE_CHECKING:
    from persona_panel.plan.panel_plan import PanelPlan


@dataclass(frozen=True, slots=True)
class Skipped:
    """Attacks that are not tried, and why; `unseen` where nothing of them comes to a judge."""

    channel: Channel
    attacks: tuple[str, ...]
    why: str
    unseen: bool


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """What an audit has scored: each base response as it is, with each control and each attack.

    `rows` says where in `responses` they stand. A panel that compares is shown each of them with
    the same other response to its prompt; those have no row.
    """

    responses: list[Response]
    rows: Rows
    attacks: tuple[Attack, ...]
    controls: tuple[Attack, ...]
    skipped: tuple[Skipped, ...]
    control_ids: tuple[str, ...]
    plants: Plants
    n_base: int


def plan_injection(
    panel: PanelPlan,
    responses: Sequence[Response],
    attacks: Sequence[Attack],
    rivals: Sequence[Response] = (),
) -> AuditPlan:
    """Which attacks this panel can be tried with, and all that is to be scored.

    Args:
        rivals: what responses are compared with, besides each other, where the panel compares.

    Raises:
        ConfigurationError: the rubric has no dimension that is rated by numbers, or no attack can
            come to a judge of this panel.
        InputError: a panel that compares has nothing to compare a response with.
    """
    if not panel.output_rubric.numeric:
        raise ConfigurationError(
            "an uplift is measured in points of a numeric scale, and the rubric "
            f"{panel.rubric.id!r} has only categories; audit a panel with another rubric"
        )
    refuse_controls(panel.judges, "an audit of prompt injection")
    bases = [identified(response) for response in responses]
    others = _rivals(panel, bases, rivals)
    prize = prize_of(panel.output_rubric, compares=panel.is_comparative)
    groups: list[tuple[Response, ...]] = [
        (base, *rival) for base, rival in zip(bases, others, strict=True)
    ]
    tried, skipped = _sorted_out(panel, groups, attacks, prize)
    if not tried:
        why = "; ".join(dict.fromkeys(one.why for one in skipped))
        raise ConfigurationError(f"no attack can reach the judges of this panel: {why}")
    control_for = [control_of(attack, prize) for attack in tried]
    controls = list({control.id: control for control in control_for}.values())
    place = {control.id: 1 + i for i, control in enumerate(controls)}
    plants: Plants = {}
    batch: list[Response] = []
    rows = []
    for group in groups:
        base, *shown = group
        row = []
        for made in (
            base,
            *(planted(base, each, prize, shown, plants) for each in (*controls, *tried)),
        ):
            row.append(len(batch))
            batch += _set_apart(made, shown) if panel.is_comparative else [made]
        rows.append(row)
    at: NDArray[np.intp] = np.array(rows, dtype=np.intp).reshape(len(groups), -1)
    return AuditPlan(
        batch,
        Rows(
            base=at[:, 0],
            attacked=at[:, 1 + len(controls) :],
            control=at[:, [place[control.id] for control in control_for]],
        ),
        tuple(tried),
        tuple(controls),
        skipped,
        tuple(control.id for control in control_for),
        plants,
        len(bases),
    )


def _sorted_out(
    panel: PanelPlan,
    groups: Sequence[tuple[Response, ...]],
    attacks: Sequence[Attack],
    prize: Prize,
) -> tuple[list[Attack], tuple[Skipped, ...]]:
    """The attacks that can be tried, and by channel those that cannot."""
    tried: list[Attack] = []
    left: dict[tuple[Channel, str, bool], list[str]] = {}
    for attack in attacks:
        why, same = closed(attack.channel, panel), False
        if why is None and attack.channel in UNSHOWN:
            same = not any(reaches(panel, attack, prize, group) for group in groups)
            if same:
                why = "no judge is shown it: it is in no prompt to a judge"
        if why is None:
            tried.append(attack)
        else:
            left.setdefault((attack.channel, why, same), []).append(attack.id)
    skipped = tuple(
        Skipped(channel, tuple(ids), why, same) for (channel, why, same), ids in left.items()
    )
    return tried, skipped


def _rivals(
    panel: PanelPlan, bases: Sequence[Response], rivals: Sequence[Response]
) -> list[tuple[Response, ...]]:
    """With what each response is compared: one other to its prompt, none where none is."""
    if not panel.is_comparative:
        return [()] * len(bases)
    found: list[tuple[Response, ...]] = []
    faults = []
    for base in bases:
        rival = next(
            (r for r in (*bases, *rivals) if r.prompt == base.prompt and r.text != base.text), None
        )
        if rival is None:
            faults.append(
                Fault(
                    file=str(base.prompt_id),
                    field="prompt_id",
                    found=f"nothing to compare {base.id!r} with",
                    expected="another response to the prompt, because this panel compares them",
                )
            )
        else:
            found.append((rival,))
    if faults:
        raise InputError(faults)
    return found


def _set_apart(made: Response, shown: Sequence[Response]) -> list[Response]:
    """A response and what it is compared with, as responses to a prompt of their own.

    Judges number responses by their ids: whatever stands in the one, its id begins as that of the
    other does and comes before it, so that all are shown in the same places.
    """
    prompt_id = f"{made.prompt_id}+{made.id}"
    base = made.metadata.get("base", made.id)
    return [
        one.model_copy(update={"prompt_id": prompt_id, "id": name})
        for one, name in ((made, made.id), *((one, f"{base}~{one.id}") for one in shown))
    ]
