"""Tells by what it says whether an answer belongs to another request.

On the wire nothing does where a stray answer comes while another is awaited. Pure rules over ids
and models' names; a doubt costs another attempt, and the same request is doubted once.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from persona_panel.models.model_names import is_another_model

_MOST_IDS = 10_000
_MOST_DOUBTED = 1_000
_MOST_REPEATS = 3
_UNIQUE = re.compile(r"[0-9A-Za-z]{8}")
"""What an id has that cannot come twice by chance; Ollama's are one of 999."""


class _KnownAnswer(NamedTuple):
    """Digests of the request and the answer that came with an id, and how many requests had it."""

    asked: int
    said: int
    n: int = 1


class StrayAnswers:
    """What one model has answered so far.

    An id that came with the answer to another request is doubted: always where the answer is the
    same, letter by letter; where it differs only if the server's ids are made to be unique, of
    which there must be two. A server that repeats its ids without that is recognised: the third
    request with the same id, or a second answer to a request that was doubted, ends the comparing.

    A name of a model is doubted that is neither the one that was asked for nor one of those that
    answered before; where it comes again to the same request it is one of them: providers answer
    under dated names, and routers send a request elsewhere.
    """

    def __init__(self, model: str) -> None:
        self._answers: dict[str, _KnownAnswer] = {}
        self._models = [model]
        self._has_answered = False
        self._doubted: dict[int, None] = {}
        self._repeats_ids = False

    def doubt(self, asked: int, said: int, id_: Any, model: Any) -> str | None:
        """Why an answer may be another request's; None where nothing says so.

        Args:
            asked: a digest of the request.
            said: a digest of the answer.
            id_: the answer's id, of any type.
            model: who answered, by the answer, of any type.
        """
        was_doubted = asked in self._doubted
        reason = self._doubt_id(asked, said, id_, was_doubted) or self._doubt_model(
            model, was_doubted
        )
        if reason is not None:
            self._doubted[asked] = None
            if len(self._doubted) > _MOST_DOUBTED:
                del self._doubted[next(iter(self._doubted))]
        return reason

    def _doubt_id(self, asked: int, said: int, id_: Any, was_doubted: bool) -> str | None:
        if self._repeats_ids or not isinstance(id_, str) or not id_:
            return None
        answers = self._answers
        if (before := answers.get(id_)) is None:
            answers[id_] = _KnownAnswer(asked, said)
            if len(answers) > _MOST_IDS:
                del answers[next(iter(answers))]
            return None
        # Some servers keep answers, too.
        if before.asked == asked:
            return None
        is_copy = before.said == said
        if not is_copy and not _UNIQUE.search(id_.rpartition("-")[2]):
            return None
        n = before.n + 1
        if was_doubted or n >= _MOST_REPEATS or (not is_copy and len(answers) == 1):
            self._repeats_ids = True
            return None
        answers[id_] = before._replace(n=n)
        return f"the answer has the id {id_[:80]!r} of the answer to another request"

    def _doubt_model(self, model: Any, was_doubted: bool) -> str | None:
        if not isinstance(model, str) or not model:
            return None
        # Nearly always the same words.
        if model in self._models:
            self._has_answered = True
            return None
        is_known = any(not is_another_model(model, known) for known in self._models)
        if is_known or was_doubted or not self._has_answered:
            self._has_answered = True
            self._models.append(model)
            return None
        known = self._models[-1][:80]
        return f"the answer is from the model {model[:80]!r}, those before were from {known!r}"
