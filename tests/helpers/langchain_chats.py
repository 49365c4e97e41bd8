"""`OpenAIClient` and `EmbeddedClient` as chat models of LangChain's."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages
from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult

from persona_panel.models.completions import read_completion
from persona_panel.models.embedded import EmbeddedClient
from persona_panel.models.openai_client import OpenAIClient
from persona_panel.rubrics import ModelResponse


class OpenAICompatible(OpenAIClient, BaseChatModel):
    """One model behind one chat completions endpoint, which LangChain can call, too; its settings
    are those of `OpenAIClient`.
    """

    # LangChain's own would ignore what it does not know.
    model_config = OpenAIClient.model_config

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return dict(self.parameters)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        answering = self._agenerate(messages, stop, **kwargs)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(answering)
        with ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(asyncio.run, answering).result()

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        payload = self._settings() | {"messages": convert_to_openai_messages(messages)} | kwargs
        if stop:
            payload["stop"] = stop
        started = time.perf_counter()
        completion = await self._accepted(payload)
        reply = self.answer_in(completion, time.perf_counter() - started)
        message = as_message(reply, completion)
        return ChatResult(generations=[ChatGeneration(message=message)])


class EmbeddedChat(EmbeddedClient, BaseChatModel):
    """A GGUF model inside this process, which LangChain can call, too; its settings are those of
    `EmbeddedClient`.
    """

    model_config = EmbeddedClient.model_config

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return dict(self.parameters)

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


def as_message(reply: ModelResponse, completion: Mapping[str, Any]) -> AIMessage:
    """Return the same answer as LangChain shows it."""
    usage = reply.usage
    return AIMessage(
        content=reply.text,
        additional_kwargs={"refusal": reply.refusal} if reply.refusal else {},
        usage_metadata=UsageMetadata(
            input_tokens=usage.input,
            output_tokens=usage.output,
            total_tokens=usage.input + usage.output,
            input_token_details=InputTokenDetails(cache_read=usage.cached),
            output_token_details=OutputTokenDetails(reasoning=usage.reasoning),
        ),
        response_metadata={
            "model_name": completion.get("model"),
            "finish_reason": reply.finish_reason,
            "logprobs": completion["choices"][0].get("logprobs"),
        },
    )
