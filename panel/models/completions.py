"""The shape of a chat completion, which served and embedded models share.

From an `ModelRequest` to a request body, and from an answer's body to a `ModelResponse` or a
LangChain message. Who is asked, and what errors mean, is not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata

from persona_panel.files.documents import as_json
from persona_panel.models.usage import completion_usage
from persona_panel.rubrics import ModelRequest, ModelResponse, Position
from persona_panel.rubrics.unicode import well_formed

_LONGEST_REASON = 1_000
"""Characters of a refusal or of a reason to finish: a run's summary keeps each one."""
CONTINUED = {"continue_final_message": True, "add_generation_prompt": False}
"""That the last message is to be continued, in vLLM's words; llama.cpp does so unasked."""


def body_of(request: ModelRequest, *, top_logprobs_cap: int | None = None) -> dict[str, Any]:
    """The body of a request, without what belongs to a model (its name, its temperature)."""
    body: dict[str, Any] = {"messages": messages_of(request), "max_tokens": request.max_tokens}
    if request.prefill:
        body |= CONTINUED
    if request.schema is not None:
        wanted = {"name": "judgment", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    if request.top_logprobs > 0:
        body["logprobs"] = True
        body["top_logprobs"] = min(request.top_logprobs, top_logprobs_cap or request.top_logprobs)
    return body


def messages_of(request: ModelRequest) -> list[dict[str, str]]:
    """The conversation so far, in OpenAI's shape."""
    messages = [{"role": "system", "content": request.system}] if request.system else []
    messages.append({"role": "user", "content": "".join(request.blocks)})
    for answered, asked in request.exchange:
        messages.append({"role": "assistant", "content": answered})
        messages.append({"role": "user", "content": asked})
    if request.prefill:
        messages.append({"role": "assistant", "content": request.prefill})
    return messages


class SeveralChoices(ValueError):
    """An answer of more than one choice, where one was asked for."""


def read_completion(completion: Mapping[str, Any], latency_s: float) -> ModelResponse:
    """What an answer's body says, tolerantly in form: only the answer itself must be there.

    Raises:
        SeveralChoices: it is more than one answer.
        AttributeError, LookupError, TypeError, ValueError: it is no chat completion.
    """
    choice = completion["choices"][0]
    if (n := len(completion["choices"])) > 1:
        raise SeveralChoices(several(n))
    # The older protocol has a text in the choice, and no message.
    message = choice["message"] if "message" in choice else {"content": choice["text"]}
    finish_reason = short(choice.get("finish_reason")) or "stop"
    filtered = "content_filter" if finish_reason == "content_filter" else None
    logprobs = choice.get("logprobs")
    return ModelResponse(
        text=_text(message),
        finish_reason=finish_reason,
        refusal=short(message.get("refusal")) or filtered,
        logprobs=positions_of(logprobs) if logprobs else (),
        usage=completion_usage(completion.get("usage")),
        latency_s=latency_s,
    )


def several(n: int) -> str:
    """What is wrong with an answer of `n` choices."""
    return f"the answer holds {n} choices, and one was asked for"


def positions_of(logprobs: Any) -> tuple[Position, ...]:
    """The log-probabilities of an answer, token by token; none where they are in no such form,
    which says nothing against the answer itself."""
    try:
        return tuple(
            Position(
                position["token"],
                tuple((top["token"], top["logprob"]) for top in position.get("top_logprobs") or ()),
                position.get("logprob"),
            )
            for position in logprobs.get("content") or ()
        )
    except (AttributeError, LookupError, TypeError):
        return ()


def as_message(reply: ModelResponse, completion: Mapping[str, Any]) -> AIMessage:
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
            output_token_details=OutputTokenDetails(reasoning=usage.reasoning),
        ),
        response_metadata={
            "model_name": completion.get("model"),
            "finish_reason": reply.finish_reason,
            "logprobs": completion["choices"][0].get("logprobs"),
        },
    )


def _text(message: Mapping[str, Any]) -> str:
    """What a message says. Where it has no content, other places hold an answer, too."""
    content = message.get("content")
    text = content if isinstance(content, str) else _content(content)
    if text.strip():
        return text
    match message:
        # Servers that take a schema for a tool, in both of the protocol's words for one.
        case {"tool_calls": [{"function": {"arguments": str(said)}}, *_]}:
            return said
        case {"function_call": {"arguments": str(said)}}:
            return said
        # vLLM, where a model was told not to think: thoughts are no text, an object is.
        case {"reasoning_content": str(said)} | {"reasoning": str(said)} if _is_object(said):
            return said
    return text


def _content(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, list):
        # Mistral's reasoning models answer in parts, of which the thoughts are no text.
        return "".join(map(_part, content))
    # Some servers hand out the JSON that was asked for as JSON.
    return orjson.dumps(content).decode()


def _part(part: Any) -> str:
    match part:
        case str():
            return part
        case {"type": "text" | "output_text", "text": str(said)}:
            return said
    return ""


def _is_object(text: str) -> bool:
    return text.lstrip()[:1] == "{" and text.rstrip()[-1:] == "}"


def short(said: Any) -> str | None:
    """A reason as text; what is no reason, or an empty one, is None."""
    if not said:
        return None
    if not isinstance(said, str):
        said = as_json(said).decode()
    elif len(said) <= _LONGEST_REASON and said.isascii():
        return said
    return well_formed(said[:_LONGEST_REASON])
