"""The responses that `select` drew for people to rate, among all that a panel scored."""

from __future__ import annotations

from collections.abc import Mapping

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.response_batch import Batch
from persona_panel.files.tables import Responses
from persona_panel.files.wording import some
from persona_panel.graphs import Response
from persona_panel.results.conclusions.wording import counted


def selected_responses(
    responses: Responses, inclusion: Mapping[str, float], source: str
) -> tuple[list[Response], dict[str, float]]:
    """The responses that were drawn, in their order, and the probability of each.

    Args:
        responses: all of them, or more.
        inclusion: by item, with which probability it was drawn, as `read_inclusion` gives it; an
            item is called `prompt_id/id`, as a run calls it, or `id`, where ids come once.
        source: the file that these are from, for faults.

    Returns:
        The responses with their prompt ids, and the probabilities by `prompt_id/id`.

    Raises:
        InputError: an item is none of the responses, or two items are the same one.
    """
    batch = Batch(responses)
    places: dict[str, list[str]] = {}
    for one in batch.items:
        for name in {f"{one.prompt_id}/{one.id}", one.id}:
            places.setdefault(name, []).append(f"{one.prompt_id}/{one.id}")
    whole = {f"{one.prompt_id}/{one.id}" for one in batch.items}
    found: dict[str, float] = {}
    absent, again = [], []
    for item, probability in inclusion.items():
        # Its own name counts before the id of another response that happens to be the same.
        named = [item] if item in whole else places.get(item, [])
        if len(named) != 1:
            absent.append(item)
        elif named[0] in found:
            again.append(item)
        else:
            found[named[0]] = probability
    faults = []
    if not inclusion:
        faults.append(Fault(source, "no items", "one item or more, as `select` writes them"))
    if absent:
        what = f"{counted(len(absent), 'item')} that no response, or more than one, has the name of"
        expected = "items called as the responses are, prompt_id/id, or id where ids come once"
        faults.append(Fault(source, f"{what}: {some(absent)}", expected, field="item"))
    if again:
        faults.append(Fault(source, f"a response twice: {some(again)}", "each once", field="item"))
    if faults:
        raise InputError(faults)
    kept = [one for one in batch if f"{one.prompt_id}/{one.id}" in found]
    return kept, {f"{one.prompt_id}/{one.id}": found[f"{one.prompt_id}/{one.id}"] for one in kept}
