"""llama.cpp's server at work in this process: what it has read already, and what it answers."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from persona_panel.models.client import CallError
from persona_panel.models.embedded_weighing import BEGUN, foreseen_in, is_weighed, one_token
from persona_panel.models.embedded_weights import ENGINES, THREADS

READING = 3
"""Counts the ways in which prompts were split over time: each gives slightly other numbers."""


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
        """llama.cpp's own answer, or its first token where that is what is weighed (see
        `embedded_weighing`). `blocks` are what the first user message is made of."""
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
        """Whether this is the text that the last call began with."""
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
            body = {"messages": [*head, user], "max_tokens": 0}
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
"""How many tokens of a prompt are computed at once."""


def _same(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]


def _begin_differently(after: str, beginning: str) -> bool:
    """Whether two beginnings of an answer surely have no token in common."""
    first, other = beginning[:1], after.lstrip()[:1]
    # Two characters beyond ASCII may begin with the same token, and white space is cut off.
    return bool(other) and first.isascii() and not first.isspace() and first not in ("", other)


_SHORT = 200
"""Characters of an instruction that is read again sooner than looked for."""


def _parted(block: str) -> tuple[str, ...]:
    """A first block's instructions, its first paragraph, apart from the text that follows: all
    responses are asked about with the same ones, so an engine reads them once."""
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
        """As `_Engine.complete`, by the copy that has read this text, or else the one whose
        last call is longest ago."""
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
    """Those of a file of weights: loaded once in a process."""
    return Engines(path, context_tokens)
