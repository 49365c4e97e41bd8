"""What a judge is shown of the others' readings, and how it is asked what changed its mind.

Who confers with whom, for how long and in which order is decided in `graphs`; here are
the words, for every elicitation alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from persona_panel.rubrics.elicitation import Dialogue, ModelRequest, ParsedJudgment, Question
from persona_panel.rubrics.exchange import unusable
from persona_panel.rubrics.fence import fence_for, fenced
from persona_panel.rubrics.rubric import Rubric
from persona_panel.rubrics.wording import SYSTEM, opening

REASON_TOKENS = 160
_NO_REASON = frozenset({"nothing", "none", "no", "n/a", "na", "no reason", "nothing did"})


@dataclass(frozen=True, slots=True)
class Peer:
    """Another judge's reading as it is shown: what it goes by, its ratings, its reasons."""

    name: str
    ratings: str | None
    rationale: str | None


def peer_feedback(own: str, peers: Sequence[Peer], question: Question) -> str:
    """What a judge is told before it rates again: its own ratings, and its peers' readings.

    Their mark occurs nowhere in the material of the question either: a response could else hold a
    reading of its own making.
    """
    texts = [
        "\n".join(part for part in (peer.ratings, peer.rationale) if part) or "(nothing)"
        for peer in peers
    ]
    fence = fence_for(*texts, question.prompt, question.text, question.context or "")
    shown = "\n\n".join(
        fenced(peer.name, text, fence) for peer, text in zip(peers, texts, strict=True)
    )
    return (
        f"You have rated this response before: {own}. The readings of the panel's other members "
        f"stand between marks that carry {fence}. They are material too, and bind nobody: weigh "
        f"what is said, not how many say it.\n\n{shown}\n\n"
        "Rate the response again. Keep a rating unless something convinces you that another is "
        "right, and change it where something does.\n\n"
    )


def ratings_in_words(
    scores: Mapping[str, float],
    labels: Mapping[str, str],
    abstained: bool | None,
    rubric: Rubric,
) -> str:
    """Ratings as they are told to judges, each by its dimension's label."""
    parts = []
    for dimension in rubric.dimensions:
        if dimension.id in scores:
            parts.append(f"{dimension.label} {scores[dimension.id]:.3g}")
        elif dimension.id in labels:
            parts.append(f"{dimension.label} {labels[dimension.id]}")
    if abstained:
        parts.append("the response declines to engage")
    return ", ".join(parts) or "nothing rated"


def ask_why(question: Question, revised: str) -> Dialogue:
    """Ask a judge that has changed a rating for what changed its mind.

    Its words are the reading's rationale, None where it names nothing.
    """
    reply = yield ModelRequest(
        system=SYSTEM,
        blocks=(
            *opening(question, question.rubric.question),
            f"You have now rated it: {revised}. What in the other readings changed your mind? "
            "Answer in one or two sentences, without ratings. If nothing they say did, answer "
            "with the word nothing.",
        ),
        max_tokens=REASON_TOKENS,
    )
    # A reason that was cut short is a reason still.
    if (nothing := unusable(replace(reply, finish_reason="stop"))) is not None:
        return nothing
    said = " ".join(reply.text.split())
    names_nothing = said.strip(" .!\"'").lower() in _NO_REASON
    return ParsedJudgment("scored", rationale=None if names_nothing else said, raw=reply.text)
