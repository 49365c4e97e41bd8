"""Every request that the elicitations make of a rubric, with answers that are asked for again."""

from __future__ import annotations

from collections.abc import Iterator

from persona_panel.rubrics import (
    Comparison,
    Dialogue,
    ModelRequest,
    ModelResponse,
    Position,
    Question,
    Rubric,
    elicitation_names,
    is_comparative,
    load_comparing,
    load_elicitation,
)
from persona_panel.rubrics.wording import Peer, ask_why, peer_feedback, ratings_in_words

_UNREADABLE = (
    "",
    "nonsense",
    '{"x": 1}',
    "7 5",
    "7\n5",
    "<scratchpad></scratchpad><scratchpad></scratchpad>",
)
_LETTERS = ("A", "B", "C")


def all_requests(
    rubric: Rubric, label: str, description: str
) -> Iterator[tuple[str, ModelRequest]]:
    """Yield each request with the name of its elicitation, `peers` for those of deliberation."""
    question = Question(rubric, label, description, "0", "1", "2")
    for name in elicitation_names():
        elicitation = load_elicitation(name)
        if elicitation.serves(rubric) is not None:
            continue
        dialogues: list[Dialogue] = []
        for reply in (*_UNREADABLE, *_wrong(rubric)):
            if is_comparative(name):
                texts, contexts = ("0", "1", "3"), ("2", "2", "4")
                if name == "pairwise":
                    texts, contexts = texts[:2], contexts[:2]
                compared = Comparison(rubric, label, description, "0", texts, contexts)
                dialogues.append(load_comparing(name).dialogue(compared))
            else:
                dialogues.append(elicitation.dialogue(question))
            yield from ((name, request) for request in asked(dialogues.pop(), reply))
        if elicitation.NEEDS_LOGPROBS:
            apart = Question(rubric, label, description, "0", "1", one_call_per_dimension=True)
            yield from ((name, request) for request in asked(elicitation.dialogue(apart), ""))
    scores = {dimension.id: 1.0 for dimension in rubric.numeric}
    labels = {name: values[0] for name, values in rubric.categories.items()}
    own = ratings_in_words(scores, labels, True, rubric)
    peers = [
        Peer("a", ratings_in_words({}, {}, None, rubric), None),
        Peer("b", None, None),
    ]
    question.peer_feedback = peer_feedback(own, peers, question)
    for request in asked(load_elicitation("dimensions").dialogue(question), "nonsense"):
        yield "peers", request
    for request in asked(ask_why(question, own), "nonsense"):
        yield "peers", request


def asked(dialogue: Dialogue, reply: str) -> list[ModelRequest]:
    """The requests of a dialogue in which each gets this reply, or, where probabilities are asked
    of a single token, the probabilities of 1, 2, yes and no."""
    requests = []
    try:
        requests.append(next(dialogue))
        while True:
            requests.append(dialogue.send(_reply(requests[-1], reply)))
    except StopIteration:
        return requests


def words_of(request: ModelRequest) -> str:
    """The words of a request that are the panel's."""
    return "\n".join((request.system, *request.blocks, *(again for _, again in request.exchange)))


def _reply(request: ModelRequest, reply: str) -> ModelResponse:
    if request.top_logprobs and request.max_tokens <= 2:
        top = (("1", -1.0), ("2", -2.0), ("yes", -1.5), ("no", -2.5))
        return ModelResponse("1", logprobs=(Position("1", top, -1.0),))
    return ModelResponse(reply)


def _wrong(rubric: Rubric) -> Iterator[str]:
    """Answers with every key, of which none has a value that it may have."""
    names = [dimension.id for dimension in rubric.dimensions]
    for value in ("[]", "true", '"?"'):
        pairs = [f'"{name}": {value}' for name in (*names, "abstained", "a", "b", "c", "better")]
        yield f"{{{', '.join(pairs)}}}"
    first = f'"{names[0]}"'
    yield f"{{{first}: 1, {first}: 2}}"
    rest = "".join(f', "{name}": 1' for name in (*names[1:], "abstained", "better"))
    yield f"{{{first}: 1{rest}}} {{{first}: 2{rest}}}"
    yield '{"a": 1, "b": 2, "c": 3, "d": 4}'
