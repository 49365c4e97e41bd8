"""Log-probabilities by LangChain: how each provider's package is asked for them, and in which form
they come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel

from persona_panel.files.documents import mended
from persona_panel.models.completions import positions_of
from persona_panel.rubrics import Position

_MOST = 20
"""Alternatives for each token: no provider gives more."""
_WITHOUT = ("anthropic", "bedrock", "mistral")
"""Their chat protocols have no log-probabilities."""
_GOOGLE = ("google", "gemini", "vertexai")

_overheard: ContextVar[list[Any] | None] = ContextVar("overheard", default=None)


def gives_logprobs(chat: BaseChatModel) -> bool | None:
    """False where a provider's protocol has none; else only a call can tell."""
    return False if _is_of(chat, _WITHOUT) else None


def request_for_logprobs(chat: BaseChatModel, top: int) -> dict[str, Any]:
    """The parameters that ask for `top` alternatives for each token, 20 at most; none for 0."""
    if not top:
        return {}
    if _is_of(chat, _GOOGLE):
        return {"response_logprobs": True, "logprobs": min(top, _MOST)}
    return {"logprobs": True, "top_logprobs": min(top, _MOST)}


@contextmanager
def overheard(chat: BaseChatModel) -> Iterator[list[Any]]:
    """The log-probabilities that Google's package returns meanwhile, of which LangChain's passes
    none on; none of other providers."""
    models = getattr(getattr(getattr(chat, "client", None), "aio", None), "models", None)
    if _is_of(chat, _GOOGLE) and models is not None and "generate_content" not in vars(models):
        generate = models.generate_content

        async def generate_content(**request: Any) -> Any:
            response = await generate(**request)
            if (said := _overheard.get()) is not None:
                said += [candidate.logprobs_result for candidate in response.candidates or ()]
            return response

        models.generate_content = generate_content
    said: list[Any] = []
    token = _overheard.set(said)
    try:
        yield said
    finally:
        _overheard.reset(token)


def positions_in(metadata: Mapping[str, Any]) -> tuple[Position, ...]:
    """The log-probabilities of an answer, token by token, from a message's response metadata; none
    where they are in no form that is known."""
    said = _plain(metadata.get("logprobs"))
    try:
        match said:
            case {"content": [*_]}:
                return positions_of(said)
            # Ollama's has no object around it.
            case [*positions]:
                return positions_of({"content": positions})
            case {"top_candidates": tops, "chosen_candidates": chosen}:
                return tuple(_of_google(chosen or (), tops or ()))
            case {"tokens": [*tokens], "top_logprobs": [*tops]}:
                own = said.get("token_logprobs") or [None] * len(tokens)
                return tuple(_of_older_protocol(tokens, tops, own))
    except (AttributeError, LookupError, TypeError, ValueError):
        pass
    return ()


def _is_of(chat: BaseChatModel, providers: Sequence[str]) -> bool:
    # Of a model that an object of LiteLLM's or a router's reaches, this says nothing.
    return any(name in chat._llm_type for name in providers)


def _plain(said: Any) -> Any:
    """The same without objects of a package's own, such as Ollama's and LiteLLM's."""
    if isinstance(said, list | tuple):
        return [_plain(one) for one in said]
    return mended(said.model_dump() if isinstance(said, BaseModel) else said)


def _of_google(
    chosen: Sequence[Mapping[str, Any]], tops: Sequence[Mapping[str, Any]]
) -> Iterator[Position]:
    for one, top in zip(chosen, tops, strict=True):
        alternatives = top.get("candidates") or ()
        yield Position(
            one["token"],
            tuple((each["token"], each["log_probability"]) for each in alternatives),
            one.get("log_probability"),
        )


def _of_older_protocol(
    tokens: Sequence[str],
    tops: Sequence[Mapping[str, float] | None],
    own: Sequence[float | None],
) -> Iterator[Position]:
    """The form of OpenAI's first completions, which Together and Fireworks keep."""
    for token, top, logprob in zip(tokens, tops, own, strict=True):
        yield Position(token, tuple((top or {}).items()), logprob)
