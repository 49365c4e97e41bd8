"""How many tokens a model's answer may take, thinking included.

A request's `max_tokens` is for the answer alone. A model that reasons spends the same allowance on
thinking, so that its limit must leave room for that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from persona_panel.calls.token_counts import input_tokens
from persona_panel.models.reasoning import REASONING_TOKENS
from persona_panel.rubrics import ModelRequest, ModelResponse

_RAISED = 4
"""By how much the room is multiplied where it was not enough."""


@dataclass(slots=True)
class AnswerLimit:
    """The limit of one model's answers; it learns from them.

    Attributes:
        reasoning: tokens for thinking that a limit has beside the answer; None where it is not
            known whether the model reasons, 0 where it does not.
        fixed: a user's own limit of a whole answer, in place of a request's, and never raised.
        context_window: what the model takes at once; None where that is not known.
        adjustable: whether the client passes on a request's limit.
    """

    reasoning: int | None = None
    fixed: int | None = None
    context_window: int | None = None
    adjustable: bool = True

    def applied_to(self, request: ModelRequest) -> ModelRequest:
        """The request with the limit at which the model is asked."""
        # Where probabilities are read, the first tokens of the answer are all that is wanted.
        if request.top_logprobs:
            return request
        if self.fixed is not None:
            return replace(request, max_tokens=self.fixed)
        return self._with_room(request, self.reasoning) if self.reasoning else request

    def raised(self, request: ModelRequest, asked: ModelRequest) -> ModelRequest | None:
        """The request with the limit at which it is asked again after `asked` was cut off; None
        where the limit cannot be raised."""
        if request.top_logprobs or self.fixed is not None or not self.adjustable:
            return None
        had = asked.max_tokens - request.max_tokens
        room = _RAISED * had if had > 0 else self.reasoning or REASONING_TOKENS
        again = self._with_room(request, room)
        return again if again.max_tokens > asked.max_tokens else None

    def learn(self, reply: ModelResponse) -> None:
        """Take note of whether the model reasons."""
        if reply.usage.reasoning and self.reasoning is None:
            self.reasoning = REASONING_TOKENS

    def learn_room(self, request: ModelRequest, asked: ModelRequest) -> None:
        """Begin with the room of `asked` from now on: with less, thinking had used it up."""
        self.reasoning = max(self.reasoning or 0, asked.max_tokens - request.max_tokens)

    def withdraw_room(self) -> None:
        """Leave no room for thinking: the server does not take so high a limit."""
        self.reasoning = 0

    def _with_room(self, request: ModelRequest, room: int) -> ModelRequest:
        limit = request.max_tokens + room
        if self.context_window is not None:
            left = self.context_window - input_tokens(request)
            limit = max(request.max_tokens, min(limit, left))
        return replace(request, max_tokens=limit)


def is_spent_on_thinking(reply: ModelResponse) -> bool:
    """Whether an answer that was cut off has nothing to show for its tokens but thoughts."""
    return reply.finish_reason == "length" and (
        bool(reply.usage.reasoning) or not reply.text.strip()
    )
