"""Checks for authors of extensions: does mine do what the others do?

Each raises an `AssertionError` whose message is one sentence, or returns None.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import rubrics
from graphs import Judge, Judgment
from graphs.framing import Framings
from graphs.stopping_rules import StoppingRule
from panel.calls.cache import CannotBeKept, ReplyStore
from panel.errors import ConfigurationError, InputError
from panel.io.definitions import load_definition
from panel.models.client import Capabilities, ModelClient
from panel.models.completions import body_of
from panel.models.config import ModelConfig
from panel.models.providers import Provider
from panel.sweep.library import framings_of
from panel.testing.server import default_text
from personas import NO_PERSONA, PersonaSet
from rubrics import (
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Position,
    Question,
    Rubric,
    Status,
    Usage,
)
from rubrics.elicitation import Elicitation

_MOST_REQUESTS = 100


def check_provider(provider: Provider, config: ModelConfig) -> None:
    """Whether a provider has what `panel.models.providers.Provider` lists.

    Asks the model that `config` names one question, which may cost something: a provider of
    served models is best checked with `config.base_url` at `panel.testing.serving`.
    """
    for name in ("packages", "client", "availability"):
        _require(hasattr(provider, name), f"the provider has no {name!r}")
    packages = provider.packages
    _require(
        not isinstance(packages, str) and all(isinstance(package, str) for package in packages),
        f"packages is a sequence of distributions' names, found {packages!r}",
    )
    lines = provider.availability()
    _require(bool(lines), "availability() says nothing of any model")
    for line in lines:
        model, usable, detail = line
        _require(
            model.startswith(f"{config.provider}:") and isinstance(usable, bool) and bool(detail),
            f"availability() lists (model, usable, detail) for models that begin with "
            f"{config.provider}:, found {tuple(line)!r}",
        )
    client = provider.client(config, False)
    _require(
        isinstance(client, ModelClient),
        f"client() returns a ModelClient, found {type(client).__name__}",
    )
    _require(
        isinstance(client.capabilities, Capabilities),
        f"capabilities is a Capabilities, found {type(client.capabilities).__name__}",
    )
    try:
        said = json.dumps(dict(client.parameters), sort_keys=True)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"parameters cannot be written as JSON: {error}") from None
    again = json.dumps(dict(provider.client(config, True).parameters), sort_keys=True)
    _require(said == again, f"two clients of one config have other parameters: {said}, {again}")
    try:
        other = provider.client(config.changed(options={"persona_panel": 1}), False)
    except ConfigurationError:
        pass
    else:
        _require(
            json.dumps(dict(other.parameters), sort_keys=True) != said,
            "an option changes nothing in parameters: hand config.options on to the model, or "
            "refuse them by panel.models.options.refuse_options",
        )
    reply = asyncio.run(_answer(client))
    _require(
        isinstance(reply, ModelResponse),
        f"complete() returns a ModelResponse, found {type(reply).__name__}",
    )
    _require(isinstance(reply.text, str), f"a reply's text is text, found {reply.text!r}")


async def _answer(client: ModelClient) -> ModelResponse:
    try:
        return await client.complete(ModelRequest("", ("Answer with the number 1.",)))
    finally:
        await client.aclose()
        await client.aclose()


def check_elicitation(elicitation: Elicitation, rubric: Rubric) -> None:
    """Whether an elicitation that rates one response leads a dialogue about it to its end, with
    answers that fit what it asks and with answers that fit nothing."""
    for name in ("NEEDS_LOGPROBS", "GIVES_REASONS"):
        _require(isinstance(getattr(elicitation, name, None), bool), f"{name} is True or False")
    _require(bool(elicitation.__doc__), "the elicitation has no docstring")
    why = elicitation.serves(rubric)
    _require(why is None, f"it does not serve the rubric {rubric.id!r}: {why}")
    rated = elicitation.output_rubric(rubric)
    _require(isinstance(rated, Rubric), "output_rubric() returns a Rubric")
    question = Question(rubric, "a sailor", "You sail.", "Why?", "Because of the wind.")
    fewest, most, reckoned, _ = elicitation.calls(rubric, False)
    _require(
        1 <= fewest <= reckoned <= most,
        f"calls() is from 1 on, and reckons with no fewer than the fewest and no more than the "
        f"most, found {fewest}, {reckoned} and {most}",
    )
    judgment = _lead(elicitation, question, _fitting)
    unknown = {*judgment.scores, *judgment.labels} - {one.id for one in rated.dimensions}
    _require(not unknown, f"it rates {sorted(unknown)}, which output_rubric() does not have")
    for odd in ("", "I would rather not.", "{", '{"score": "high"}'):
        reply = ModelResponse(odd)
        judgment = _lead(elicitation, question, partial(_same, reply))
        _require(
            judgment.status != "scored" or bool(judgment.scores or judgment.labels),
            f"the answer {odd!r} is scored and has no score",
        )


def _lead(
    elicitation: Elicitation,
    question: Question,
    answer: Callable[[ModelRequest], ModelResponse],
) -> ParsedJudgment:
    dialogue = elicitation.dialogue(question)
    asked = 0
    try:
        request = next(dialogue)
        while True:
            asked += 1
            _require(isinstance(request, ModelRequest), "a dialogue yields ModelRequests")
            _require(asked <= _MOST_REQUESTS, f"the dialogue asks over {_MOST_REQUESTS} times")
            request = dialogue.send(answer(request))
    except StopIteration as done:
        judgment: ParsedJudgment = done.value
    _require(
        isinstance(judgment, ParsedJudgment),
        f"a dialogue returns a ParsedJudgment, found {type(judgment).__name__}",
    )
    return judgment


def _same(reply: ModelResponse, request: ModelRequest) -> ModelResponse:
    return reply


def _fitting(request: ModelRequest) -> ModelResponse:
    text = default_text(body_of(request))
    positions = tuple(Position(char, ((char, 0.0),)) for char in text)
    return ModelResponse(text, logprobs=positions if request.top_logprobs else ())


def check_stopping_rule(rule: StoppingRule) -> None:
    """Whether a rule for the end of a deliberation answers True or False to what judges have
    said, in the first round and later, and changes nothing of it."""
    _require(bool(inspect.getdoc(rule)), "the rule has no docstring; its first line is its help")
    rubric = load_definition(rubrics.shipped()["debate-speech"], Rubric)
    name = rubric.dimensions[0].id

    def said(judge: str, turn: int, score: float | None) -> Judgment:
        status: Status = "failed" if score is None else "scored"
        scores = {} if score is None else {name: score}
        who = Judge(judge, "m", "dimensions")
        return Judgment("p", "r", "s", who, status, round=turn, scores=scores)

    first = [said("a", 1, 2.0), said("b", 1, 4.0), said("c", 1, None)]
    cases: Sequence[list[Judgment]] = [
        first,
        [*first, said("a", 2, 3.0), said("b", 2, 4.0)],
    ]
    for judgments in cases:
        before = copy.deepcopy(judgments)
        answer = rule.should_stop(judgments, rubric)
        _require(isinstance(answer, bool), f"should_stop() returns True or False, found {answer!r}")
        _require(judgments == before, "should_stop() changes the judgments that it is shown")


def check_reply_store(open_store: Callable[[], ReplyStore]) -> None:
    """Whether a storage keeps replies as `panel.calls.cache.ReplyStore` says.

    `open_store` opens one and the same storage each time it is called, empty at first.
    """
    page, other = "a" * 64, "b" * 64
    keys = [bytes([n]) * 32 for n in range(3)]
    usage = Usage(input=120, cached=100, output=5, written=3)
    reply = ModelResponse(
        text="Grüße 🙂\n",
        finish_reason="length",
        refusal="no",
        logprobs=(Position("7", (("7", -0.1), ("8", -2.5))),),
        usage=usage,
        latency_s=0.25,
    )
    large = ModelResponse("x" * 1_000_000)
    store = open_store()
    _require(bool(store.location), "location says where replies are kept")
    _require(store.get(page, keys[0]) is None, "the storage is not empty at first")
    store.put(page, keys[0], ModelResponse("earlier"))
    store.put(page, keys[0], reply)
    store.put(page, keys[1], large)
    store.put(other, keys[2], reply)
    store.put(other, keys[0], ModelResponse("dropped"))
    store.forget(other, [keys[0], keys[1]])
    try:
        store.put(page, keys[2], ModelResponse("\ud800"))
    except CannotBeKept:
        pass
    else:
        found = store.get(page, keys[2])
        _require(
            found is not None and found.text == "\ud800",
            "a text with half a surrogate pair is neither kept nor refused by CannotBeKept",
        )
        store.forget(page, [keys[2]])
    for when in ("at once", "by the next store"):
        expected = {
            (page, keys[0]): replace(reply, cached=True),
            (page, keys[1]): replace(large, cached=True),
            (page, keys[2]): None,
            (other, keys[2]): replace(reply, cached=True),
            (other, keys[0]): None,
        }
        for (where, key), kept in expected.items():
            found = store.get(where, key)
            _require(
                found == kept,
                f"what was put is not served {when} as it was, but for cached=True: "
                f"found {str(found)[:200]}, expected {str(kept)[:200]}",
            )
        store.close()
        store = open_store()
    store.close()


def check_framings(framings: str | Path | Framings) -> None:
    """Whether a framing set, its YAML file or its name is valid and has something to compare."""
    try:
        found = framings_of(framings)
    except InputError as error:
        raise AssertionError(f"the framing set is not valid: {error}") from None
    labels = [condition.label for condition in found.conditions]
    _require(len(set(labels)) == len(labels), f"two conditions have one label: {labels}")
    instructions = [condition.instruction.strip() for condition in found.conditions]
    _require(len(set(instructions)) == len(labels), "two conditions have one instruction")


def check_persona_set(personas: str | Path | PersonaSet) -> None:
    """Whether a persona set or its YAML file is valid and no two of its personas are alike."""
    found = personas
    if not isinstance(found, PersonaSet):
        try:
            found = load_definition(Path(found), PersonaSet)
        except InputError as error:
            raise AssertionError(f"the persona set is not valid: {error}") from None
    for field in ("label", "description"):
        described = [persona for persona in found.personas if persona != NO_PERSONA]
        said = [getattr(persona, field).strip() for persona in described]
        _require(all(said), f"a persona's {field} is blank")
        _require(len(set(said)) == len(said), f"two personas have one {field}")


def _require(right: bool, otherwise: str) -> None:
    if not right:
        raise AssertionError(otherwise)
