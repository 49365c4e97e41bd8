"""Checks for authors of providers, batch clients, elicitations, stopping rules, framings and
persona sets. Each raises an `AssertionError` that says what is required.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import os
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import orjson

import persona_panel.personas as personas_library
from persona_panel import rubrics
from persona_panel.experiments.sweep.plan import framings_of
from persona_panel.files.definitions import load_definition, resolve
from persona_panel.files.errors import ConfigurationError, InputError, PanelError
from persona_panel.files.secrets import SECRETS, credentials_in
from persona_panel.graphs import Judge, Judgment
from persona_panel.graphs.deliberation import StoppingRule
from persona_panel.graphs.framing import Framings
from persona_panel.models.batches import BatchApi, BatchClient, BatchSought, BatchStatus, NotToldYet
from persona_panel.models.client import CallError, Capabilities, ModelClient
from persona_panel.models.completions import body_of
from persona_panel.models.config import ModelConfig
from persona_panel.models.providers import Provider, load_provider, provider_names
from persona_panel.personas import NO_PERSONA, PersonaSet
from persona_panel.rubrics import (
    CategoryScale,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Position,
    Question,
    Rubric,
    Status,
)
from persona_panel.rubrics.elicitation import Elicitation
from persona_panel.testing.scripted_model import default_text


def require(right: bool, otherwise: str) -> None:
    """Raise an error with the message `otherwise` unless `right`. Raises AssertionError: `right` is
    False."""
    if not right:
        raise AssertionError(otherwise)


def _require_parts(extension: object, kind: str, parts: Sequence[str]) -> None:
    missing = [repr(part) for part in parts if not hasattr(extension, part)]
    require(not missing, f"the {kind} has no {', '.join(missing)}")


_MOST_REQUESTS = 100


def check_provider(provider: Provider, config: ModelConfig) -> None:
    """Check that a provider has what `persona_panel.models.providers.Provider` lists.

    Asks the model that `config` names one question, which may cost something: a provider of
    served models is best checked with `config.base_url` at `persona_panel.testing.serving`, which
    has a `path` for an API that is not OpenAI's. That it brings no reply is an AssertionError, too.
    Where there is a `base_url`, a port where nobody listens is asked as well: that call must be
    known not to have been sent.

    A provider's `parameters` must differ by model, by temperature where its answers do, and hold no
    key or password that `config` says or names.
    """
    name = config.provider
    if name in provider_names():
        require(load_provider(name) == provider, f"another provider is called {name!r} already")
    _require_parts(provider, "provider", ("packages", "client", "availability"))
    packages = provider.packages
    require(
        not isinstance(packages, str) and all(isinstance(package, str) for package in packages),
        f"packages is a sequence of distributions' names, found {packages!r}",
    )
    lines = provider.availability()
    require(bool(lines), "availability() says nothing of any model")
    for line in lines:
        model, usable, detail = line
        require(
            model.startswith(f"{name}:") and isinstance(usable, bool) and bool(detail),
            f"availability() lists (model, usable, detail) for models that begin with "
            f"{name}:, found {tuple(line)!r}",
        )
    client = provider.client(config, False)
    require(
        isinstance(client, ModelClient),
        f"client() returns a ModelClient, found {type(client).__name__}",
    )
    require(
        isinstance(client.capabilities, Capabilities),
        f"capabilities is a Capabilities, found {type(client.capabilities).__name__}",
    )
    parameters, again = _parameters(client), _parameters(provider.client(config, True))
    require(
        parameters == again,
        f"two clients of one config have other parameters: {parameters}, {again}",
    )
    for secret in _secrets_of(config):
        require(secret not in parameters, "parameters hold a key or password of the config")
    with suppress(PanelError):
        other = provider.client(config.model_copy(update={"model": f"{config.model}-other"}), False)
        require(
            _parameters(other) != parameters, f"another model has the same parameters: {parameters}"
        )
    cold, warm = (
        provider.client(config.model_copy(update={"temperature": degree}), False)
        for degree in (0.0, 1.0)
    )
    require(
        warm.capabilities.deterministic_text or _parameters(cold) != _parameters(warm),
        f"another temperature has the same parameters, and capabilities do not say "
        f"deterministic_text: {parameters}",
    )
    with suppress(ConfigurationError):
        other = provider.client(config.changed(options={"persona_panel": 1}), False)
        require(
            _parameters(other) != parameters,
            "an option changes nothing in parameters: hand config.options on to the model, or "
            "refuse them by persona_panel.models.config.refuse_options",
        )
    reply = asyncio.run(_answer(client))
    require(
        isinstance(reply, ModelResponse),
        f"complete() returns a ModelResponse, found {type(reply).__name__}",
    )
    require(isinstance(reply.text, str), f"a reply's text is text, found {reply.text!r}")
    if config.base_url:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
        gone = config.model_copy(update={"base_url": f"http://127.0.0.1:{port}/v1"})
        asyncio.run(_check_unsent(provider.client(gone, False)))


def _parameters(client: ModelClient) -> str:
    try:
        return json.dumps(dict(client.parameters), sort_keys=True)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"parameters cannot be written as JSON: {error}") from None


def _secrets_of(config: ModelConfig) -> Iterator[str]:
    yield from credentials_in(config.base_url or "")
    if config.key_env and (key := os.environ.get(config.key_env)):
        yield key


async def _check_unsent(client: ModelClient) -> None:
    try:
        # One that does not go by the address answers all the same.
        await client.complete(ModelRequest("", ("Answer with the number 1.",)))
    except CallError as fault:
        require(
            fault.unsent,
            "a call to a server that cannot be reached counts as sent: CallError(…, unsent=True)",
        )
    except Exception as error:
        raise AssertionError(
            f"of a server that cannot be reached complete() raises {type(error).__name__}, where a "
            f"CallError with unsent=True is expected: {error}"
        ) from error
    finally:
        await client.aclose()


async def _answer(client: ModelClient) -> ModelResponse:
    try:
        return await client.complete(ModelRequest("", ("Answer with the number 1.",)))
    except (CallError, TimeoutError) as error:
        kind = f", {error.kind}" if isinstance(error, CallError) else ""
        raise AssertionError(
            f"complete() brings no reply ({type(error).__name__}{kind}): {error}"
        ) from error
    finally:
        await client.aclose()
        await client.aclose()


def check_elicitation(elicitation: Elicitation, rubric: Rubric, answer: str | None = None) -> None:
    """Check that an elicitation that rates single responses leads a dialogue to its end, both with
    answers that fit its questions and with answers that fit nothing. Those that fit must be scored,
    on the scales of `output_rubric`, in as many calls as `calls` says.

    `answer`: one that fits; by default the first that does of JSON for the schema asked for or a
    number, a JSON object of ratings, no, and the letter B.
    """
    require(
        not getattr(elicitation, "COMPARES", False),
        "it compares responses (COMPARES), and this check is for elicitations that rate one",
    )
    parts = ("NEEDS_LOGPROBS", "GIVES_REASONS", "serves", "output_rubric", "calls", "dialogue")
    _require_parts(elicitation, "elicitation", parts)
    for name in ("NEEDS_LOGPROBS", "GIVES_REASONS"):
        require(isinstance(getattr(elicitation, name), bool), f"{name} is True or False")
    require(bool(elicitation.__doc__), "the elicitation has no docstring")
    why = elicitation.serves(rubric)
    require(why is None, f"it does not serve the rubric {rubric.id!r}: {why}")
    rated = elicitation.output_rubric(rubric)
    require(isinstance(rated, Rubric), "output_rubric() returns a Rubric")
    question = Question(rubric, "a sailor", "You sail.", "Why?", "Because of the wind.")
    fewest, most, reckoned, _ = elicitation.calls(rubric, False)
    require(
        1 <= fewest <= reckoned <= most,
        f"calls() is from 1 on, and reckons with no fewer than the fewest and no more than the "
        f"most, found {fewest}, {reckoned} and {most}",
    )
    for words in _answers(rated) if answer is None else (answer,):
        judgment, asked = _lead(elicitation, question, partial(_fitting, words))
        if judgment.status == "scored":
            break
    unknown = {*judgment.scores, *judgment.labels} - {
        dimension.id for dimension in rated.dimensions
    }
    require(not unknown, f"it rates {sorted(unknown)}, which output_rubric() does not have")
    require(
        judgment.status == "scored",
        f"an answer that is to fit is {judgment.status} ({judgment.error}); if other words fit, "
        "give them as `answer`",
    )
    require(
        fewest <= asked <= most,
        f"a dialogue takes {asked} calls, and calls() says {fewest} to {most}",
    )
    _require_on_scale(judgment, rated)
    for odd in ("", "I would rather not.", "{", '{"score": "high"}'):
        reply = ModelResponse(odd)
        judgment, _ = _lead(elicitation, question, partial(_same, reply))
        require(
            judgment.status != "scored" or bool(judgment.scores or judgment.labels),
            f"the answer {odd!r} is scored and has no score",
        )
        _require_on_scale(judgment, rated)


def _require_on_scale(judgment: ParsedJudgment, rubric: Rubric) -> None:
    for dimension in rubric.dimensions:
        scale = dimension.scale
        if isinstance(scale, CategoryScale):
            label = judgment.labels.get(dimension.id)
            right, rating = label is None or label in scale.names, repr(label)
        else:
            score = judgment.scores.get(dimension.id, scale.min)
            right, rating = scale.min <= score <= scale.max, f"{score:g}"
        require(right, f"{dimension.id} is rated {rating}, which is not on its scale")


def _lead(
    elicitation: Elicitation, question: Question, answer: Callable[[ModelRequest], ModelResponse]
) -> tuple[ParsedJudgment, int]:
    """Lead a dialogue to its end; returns the judgment, and how many requests it took."""
    dialogue = elicitation.dialogue(question)
    asked = 0
    try:
        request = next(dialogue)
        while True:
            asked += 1
            require(isinstance(request, ModelRequest), "a dialogue yields ModelRequests")
            require(asked <= _MOST_REQUESTS, f"the dialogue asks over {_MOST_REQUESTS} times")
            request = dialogue.send(answer(request))
    except StopIteration as done:
        judgment: ParsedJudgment = done.value
    require(
        isinstance(judgment, ParsedJudgment),
        f"a dialogue returns a ParsedJudgment, found {type(judgment).__name__}",
    )
    return judgment, asked


def _answers(rubric: Rubric) -> tuple[str | None, ...]:
    ratings: dict[str, object] = {}
    for dimension in rubric.dimensions:
        scale = dimension.scale
        ratings[dimension.id] = scale.names[0] if isinstance(scale, CategoryScale) else scale.min
    if rubric.abstention:
        ratings["abstained"] = False
    return None, json.dumps(ratings), "no", "B"


def _same(reply: ModelResponse, request: ModelRequest) -> ModelResponse:
    return reply


def _fitting(answer: str | None, request: ModelRequest) -> ModelResponse:
    text = default_text(body_of(request)) if answer is None else answer
    positions = tuple(Position(token, ((token, 0.0),)) for token in re.findall(r"\w+|\W", text))
    return ModelResponse(text, logprobs=positions if request.top_logprobs else ())


def check_stopping_rule(rule: StoppingRule) -> None:
    """Check that a rule for the end of a deliberation answers True or False to what judges have
    said, in the first round and later, also where some abstained or failed; that it answers the
    same each time, and changes nothing of it."""
    require(bool(inspect.getdoc(rule)), "the rule has no docstring; its first line is its help")
    rubric = load_definition(rubrics.shipped()["debate-speech"], Rubric)
    name = rubric.dimensions[0].id

    def judgment(judge: str, turn: int, score: float | None, status: Status = "scored") -> Judgment:
        scores = {} if score is None else {name: score}
        who = Judge(judge, "m", "dimensions")
        abstained = status == "abstained" or None
        return Judgment("p", "r", "s", who, status, round=turn, scores=scores, abstained=abstained)

    first = [judgment("a", 1, 2.0), judgment("b", 1, 4.0), judgment("c", 1, None, "failed")]
    second = [*first, judgment("a", 2, 3.0), judgment("b", 2, None, "abstained")]
    cases: Sequence[list[Judgment]] = [
        first,
        second,
        [*second, judgment("a", 3, 3.0), judgment("b", 3, 3.0)],
        [judgment(judge, 1, None, "abstained") for judge in "ab"],
    ]
    for judgments in cases:
        before = copy.deepcopy(judgments)
        answer = rule.should_stop(judgments, rubric)
        require(isinstance(answer, bool), f"should_stop() returns True or False, found {answer!r}")
        require(judgments == before, "should_stop() changes the judgments that it is shown")
        again = rule.should_stop(judgments, rubric)
        require(again is answer, "should_stop() answers otherwise when it is asked again")


def check_framings(framings: str | Path | Framings) -> None:
    """Check that a framing set, its YAML file or its name is valid and has something to compare."""
    try:
        valid = framings_of(framings)
    except InputError as error:
        raise AssertionError(f"the framing set is not valid: {error}") from None
    labels = [condition.label for condition in valid.conditions]
    require(len(set(labels)) == len(labels), f"two conditions have one label: {labels}")
    instructions = [condition.instruction.strip() for condition in valid.conditions]
    require(len(set(instructions)) == len(labels), "two conditions have one instruction")


def check_persona_set(personas: str | Path | PersonaSet) -> None:
    """Check that a persona set, its YAML file or its name is valid and no two of its personas are
    alike."""
    persona_set = personas
    if not isinstance(persona_set, PersonaSet):
        try:
            path = resolve(str(persona_set), personas_library.shipped(), "persona set")
            persona_set = load_definition(path, PersonaSet)
        except InputError as error:
            raise AssertionError(f"the persona set is not valid: {error}") from None
    for field in ("label", "description"):
        described = [persona for persona in persona_set.personas if persona != NO_PERSONA]
        texts = [getattr(persona, field).strip() for persona in described]
        require(all(texts), f"a persona's {field} is blank")
        require(len(set(texts)) == len(texts), f"two personas have one {field}")


_ASKED = ModelRequest("You judge.", ("Say 7.",))
_LOOK_S = 0.05


def check_batch_client(client: ModelClient, timeout_s: float = 60.0) -> None:
    """Check that a model's requests can go as batches; see
    `persona_panel.models.batches.BatchClient`.

    Sends one batch of two requests and makes one call, which may cost something: a client is best
    checked with a local server that speaks its provider's protocol. `timeout_s`, in seconds, is how
    long the batch may take.

    A row must hold no key, a batch must be found by its token once it has ended, and not be found
    where it is another's; its answers must come under the names of their requests, and be read as
    that of the call is: with a text where that has one, and with the same where the client's
    capabilities say `deterministic_text`.
    """
    require(isinstance(client, BatchClient), "the client is no `BatchClient`")
    assert isinstance(client, BatchClient)  # noqa: S101
    require(client.address.startswith("http"), f"address is a web address, found {client.address}")
    settings = orjson.dumps(dict(client.settings)).decode()
    require(SECRETS.scrub(settings) == settings, "settings have no key in them")
    asyncio.run(_checked(client, client.batches(), timeout_s))


async def _checked(client: ModelClient, api: BatchApi, timeout_s: float) -> None:
    try:
        require(api.most_rows > 0 and api.most_bytes > 0, "most_rows and most_bytes are positive")
        names = [sha256(text).hexdigest() for text in (b"one", b"two")]
        lines = [api.line(name, _ASKED) for name in names]
        for name, line in zip(names, lines, strict=True):
            require(b"\n" not in line, "line() returns one line without a line break")
            require(name.encode() in line, "line() returns a row with the request's name")
            text = line.decode()
            require(SECRETS.scrub(text) == text, "line() returns a row with a key in it")
            require(api.read(line) is None, "read() takes a request for an answer")
        require(api.read(b"[]") is None, "read() takes an empty list for an answer")
        token, since = uuid4().hex, time.time()
        with suppress(NotToldYet):
            batch = await api.find(BatchSought(uuid4().hex, since, 2))
            require(batch is None, f"find() finds a batch that was never sent: {batch}")
        sent = await api.submit(token, lines)
        require(bool(sent.id), "submit() returns a status without an id")
        status = await _ended(api, sent.id, timeout_s)
        require(status.phase == "ended", f"the batch is {status.word}: {status.errors}")
        batch = await api.find(BatchSought(token, since, 2))
        require(
            batch is not None and batch.id == sent.id, "find() does not find a batch that ended"
        )
        other = await api.find(BatchSought(uuid4().hex, since, 2))
        require(other is None, "find() takes a batch of another token for the one that is sought")
        with TemporaryDirectory() as folder:
            rows = [row async for row in api.results(status, Path(folder))]
            require(not _left_in(Path(folder)), "results() leaves files in its folder")
        answered = sorted(str(row.custom_id) for row in rows)
        require(answered == sorted(names), f"answers are named {answered}, requests {names}")
        for row in rows:
            require(isinstance(row.answer, ModelResponse), f"a request has a fault: {row.answer}")
        live = await client.complete(_ASKED)
        same = client.capabilities.deterministic_text
        for row in rows:
            assert isinstance(row.answer, ModelResponse)  # noqa: S101
            text = row.answer.text
            require(
                text == live.text if same else bool(text) == bool(live.text),
                f"the answer {live.text[:200]!r} of a call is {text[:200]!r} in a batch",
            )
    finally:
        await api.aclose()


async def _ended(api: BatchApi, id_: str, timeout_s: float) -> BatchStatus:
    until = time.monotonic() + timeout_s
    while True:
        status = await api.status(id_)
        if status.phase != "working":
            return status
        require(time.monotonic() < until, f"the batch is {status.word} after {timeout_s:g} s")
        await asyncio.sleep(_LOOK_S)


def _left_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())
