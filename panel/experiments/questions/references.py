"""Questions that people have labelled, by the intervention that they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from persona_panel.files.errors import Fault, InputError
from persona_panel.graphs import Response
from persona_panel.rubrics import CategoryScale

LABELS = ("useful", "unhelpful", "invalid")
"""The labels of the rubric `critical-question`; a label's code is its place."""

_SCALE = CategoryScale(values=dict.fromkeys(LABELS, "see the rubric critical-question"))


@dataclass(frozen=True, slots=True)
class Reference:
    """A question with the label that people gave it."""

    id: str
    text: str
    label: str


def given_label(response: Response) -> str | None:
    """The label in a response's metadata, in our spelling; None if there is none we know."""
    said = response.metadata.get("label")
    return _SCALE.find(said) if isinstance(said, str) else None


def references_of(
    labelled: Sequence[Response], generated: Sequence[Response], files: tuple[str, str]
) -> dict[str, list[Reference]]:
    """The references of each intervention, which is a response's `prompt_id`.

    `files` are the names of both inputs, for errors.

    Raises:
        InputError: a reference has no label, or a generated question no reference; lists all.
    """
    found: dict[str, list[Reference]] = {}
    faults = []
    for response in labelled:
        label = given_label(response)
        if label is None:
            said = response.metadata.get("label")
            faults.append(
                Fault(
                    file=files[0],
                    field=f"{response.prompt_id}/{response.id}: label",
                    found="nothing" if said is None else repr(said),
                    expected=f"one of {', '.join(LABELS)}",
                )
            )
            continue
        reference = Reference(response.id, response.text, label)
        found.setdefault(response.prompt_id or "", []).append(reference)
    known = {response.prompt_id for response in labelled}
    for prompt_id in dict.fromkeys(response.prompt_id for response in generated):
        if prompt_id not in known:
            faults.append(
                Fault(
                    file=files[1],
                    field="prompt_id",
                    found=f"{prompt_id!r}, of which there is no reference",
                    expected=f"an intervention with questions in {files[0]}",
                )
            )
    if faults:
        raise InputError(faults)
    return found


def by_intervention(responses: Sequence[Response]) -> Mapping[str, list[Response]]:
    """Responses by their `prompt_id`, in order of appearance."""
    groups: dict[str, list[Response]] = {}
    for response in responses:
        groups.setdefault(response.prompt_id or "", []).append(response)
    return groups
