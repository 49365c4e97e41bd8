"""The shape of a chat completion, which served and embedded models share.

From an `Ask` to a request body, and from an answer's body to a `Reply` or a
LangChain message. Who is asked, and what errors mean, is not here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata

from rubrics import Ask, Position, Reply, Usage


def request_of(ask: Ask, *, top_logprobs_cap: int | None = None) -> dict[str, Any]:
    """The body of a request, without what belongs to a model (its name, its temperature)."""
    request: dict[str, Any] = {"messages": messages_of(ask), "max_tokens": ask.max_tokens}
    if ask.prefill:
        # vLLM's words for it; llama.cpp continues a last assistant message unasked.
        request["continue_final_message"] = True
        request["add_generation_prompt"] = False
    if ask.schema is not None:
        wanted = {"name": "judgment", "strict": True, "schema": ask.schema}
        request["response_format"] = {"type": "json_schema", "json_schema": wanted}
    if ask.top_logprobs > 0:
        request["logprobs"] = True
        request["top_logprobs"] = min(ask.top_logprobs, top_logprobs_cap or ask.top_logprobs)
    return request


def messages_of(ask: Ask) -> list[dict[str, str]]:
    """The conversation so far, in OpenAI's shape."""
    messages = [{"role": "system", "content": ask.system}] if ask.system else []
    messages.append({"role": "user", "content": "".join(ask.blocks)})
    for answered, asked in ask.exchange:
        messages.append({"role": "assistant", "content": answered})
        messages.append({"role": "user", "content": asked})
    if ask.prefill:
        messages.append({"role": "assistant", "content": ask.prefill})
    return messages


def read_completion(completion: Mapping[str, Any], latency_s: float) -> Reply:
    """What an answer's body says.

    Raises:
        AttributeError, LookupError, TypeError, ValueError: it is no chat completion.
    """
    choice = completion["choices"][0]
    message = choice["message"]
    finish_reason = choice.get("finish_reason") or "stop"
    filtered = "content_filter" if finish_reason == "content_filter" else None
    logprobs = choice.get("logprobs")
    return Reply(
        text=_text(message.get("content")),
        finish_reason=finish_reason,
        refusal=message.get("refusal") or filtered,
        logprobs=positions_of(logprobs.get("content") or ()) if logprobs else (),
        usage=_usage(completion.get("usage") or {}),
        latency_s=latency_s,
    )


def positions_of(content: Iterable[Mapping[str, Any]]) -> tuple[Position, ...]:
    """The log-probabilities of an answer, token by token."""
    return tuple(
        Position(
            position["token"],
            tuple((top["token"], top["logprob"]) for top in position.get("top_logprobs") or ()),
        )
        for position in content
    )


def as_message(reply: Reply, completion: Mapping[str, Any]) -> AIMessage:
    """The same answer as LangChain shows it."""
    usage = reply.usage
    return AIMessage(
        content=reply.text,
        additional_kwargs={"refusal": reply.refusal} if reply.refusal else {},
        usage_metadata=UsageMetadata(
            input_tokens=usage.input,
            output_tokens=usage.output,
            total_tokens=usage.input + usage.output,
            input_token_details=InputTokenDetails(cache_read=usage.cached),
        ),
        response_metadata={
            "model_name": completion.get("model"),
            "finish_reason": reply.finish_reason,
            "logprobs": completion["choices"][0].get("logprobs"),
        },
    )


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    # Mistral's reasoning models answer in parts, of which the thoughts are no text.
    return "".join(part["text"] for part in content if part["type"] == "text")


def _usage(usage: Mapping[str, Any]) -> Usage:
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        input=_count(usage.get("prompt_tokens")),
        cached=_count(details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens")),
        output=_count(usage.get("completion_tokens")),
    )


def _count(said: Any) -> int:
    """A number of tokens, as text, too; what is none is not said, and the answer counts."""
    try:
        return int(float(said or 0))
    except (TypeError, ValueError, OverflowError):
        return 0
