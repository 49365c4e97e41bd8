"""`EmbeddedClient` as a chat model of LangChain's."""

from __future__ import annotations

import time
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult

from persona_panel.models.completions import as_message, read_completion
from persona_panel.models.embedded import EmbeddedClient


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
