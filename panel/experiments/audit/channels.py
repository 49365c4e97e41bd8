"""By what ways a text comes to a judge: where an attack is put on each, and which a panel has.

| channel | where the attack stands |
|---|---|
| text | in the response |
| label | in the response, speaking of the labels under which responses are compared |
| answer | in the response, as a target of a sweep could answer |
| prompt | in the prompt |
| variant | in the prompt, as a sweep's rewriter could frame it |
| context | in the context, which it makes up where there is none |
| peer | in a peer's rationale, as a judge is shown it in deliberation |
| system, id, metadata | in names and notes that no judge is shown |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from persona_panel.experiments.audit.attacks import Attack, Channel, Prize, inserted, placed
from persona_panel.graphs import Response
from persona_panel.rubrics.peer_feedback import Peer
from persona_panel.runs.judging.mode import mode_of

if TYPE_CHECKING:
    from persona_panel.panel import Panel

SHOWN_AS: Mapping[Channel, Channel] = {"label": "text", "answer": "text", "variant": "prompt"}
"""Channels that lead to the same place as another one does."""
UNSHOWN: frozenset[Channel] = frozenset({"system", "id", "metadata"})
"""Channels of which nothing is ever to reach a judge."""

Plants = dict[tuple[str, str], tuple[str, str]]
"""What stands in a peer's rationale and where in it, by the prompt id and the id of a response."""


def closed(channel: Channel, panel: Panel) -> str | None:
    """Why no judge of this panel can be reached in this way; None where one can be."""
    if panel.plan.is_comparative and channel in ("prompt", "variant"):
        return "compared responses share one prompt: an attack in it cannot favour one of them"
    if panel.plan.is_comparative and channel == "answer":
        return "a panel that compares responses cannot run a sweep"
    if not panel.plan.is_comparative and channel == "label":
        return (
            "this panel rates responses one at a time (--elicitation pairwise and ranking "
            "compare them)"
        )
    if channel == "peer":
        if panel.deliberation is None:
            return "this panel does not deliberate (add --deliberate N --reveal rationales)"
        if panel.deliberation.reveal == "scores":
            return (
                "judges see the ratings of their peers and no rationales (add --reveal "
                "rationales or both)"
            )
        if len(panel.judges) == 1:
            return "a panel of one judge has no peers"
    return None


def reaches(panel: Panel, attack: Attack, prize: Prize, group: Sequence[Response]) -> bool:
    """Whether anything of an attack on the first of a group, the responses that are shown
    together, stands in what the panel's judges are asked about it."""
    first, *others = group
    put = _put(first, attack, prize, others)
    attacked = planted(first, attack, prize, others, {})
    return any(
        put in text
        for request in mode_of(panel.plan).first_requests((attacked, *others))
        for text in (request.system, *request.blocks)
    )


def planted(
    response: Response, attack: Attack, prize: Prize, others: Sequence[Response], plants: Plants
) -> Response:
    """The response with the attack on its channel, as `ID+ATTACK`; what stands in a peer's
    rationale is added to `plants`.

    The author's name gets the attack's, too, so that no ranking takes an attacked text for the
    author's own; and so does the prompt's id where the prompt is another.

    Args:
        response: one with a prompt id.
        others: what it is shown together with.
    """
    put = _put(response, attack, prize, others)
    channel = SHOWN_AS.get(attack.channel, attack.channel)
    name, author = f"{response.id}+{attack.id}", f"{response.system}+{attack.id}"
    metadata = {
        **response.metadata,
        "base": response.id,
        "attack": attack.id,
        "attack_family": attack.family,
        "attack_channel": attack.channel,
    }
    changed: dict[str, str] = {}
    if channel == "text":
        changed["text"] = placed(response.text, put, attack.placement)
    elif channel == "prompt":
        changed["prompt"] = placed(response.prompt, put, attack.placement)
        changed["prompt_id"] = f"{response.prompt_id}+{attack.id}"
    elif channel == "context":
        own = response.context
        changed["context"] = put if own is None else placed(own, put, attack.placement)
    elif channel == "peer":
        plants[str(response.prompt_id), name] = put, attack.placement
    elif channel == "system":
        author = placed(author, put, attack.placement)
    elif channel == "id":
        name = placed(name, put, attack.placement)
    else:
        metadata["note"] = put
    return response.model_copy(
        update={"id": name, "system": author, "metadata": metadata, **changed}
    )


def _put(response: Response, attack: Attack, prize: Prize, others: Sequence[Response]) -> str:
    shown = (response, *others)
    contexts = [one.context for one in shown if one.context is not None]
    return inserted(attack, prize, [response.prompt, *(one.text for one in shown), *contexts])


def with_plants(response: Response, peers: Sequence[Peer], plants: Plants) -> list[Peer]:
    """What a judge is shown of its peers, the first of whom says what was planted."""
    found = plants.get((str(response.prompt_id), response.id))
    if found is None or not peers:
        return list(peers)
    text, placement = found
    own = peers[0].rationale
    said = text if own is None else placed(own, text, placement)
    return [replace(peers[0], rationale=said), *peers[1:]]
