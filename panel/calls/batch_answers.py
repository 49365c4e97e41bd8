"""What an ended batch has brought, matched with its requests and counted; no I/O.

Its results are fetched once more where they lack an answer that the provider counts, or hold one
that cannot be read: a download may have been cut off. What they hold is paid for and not asked for
again, also where nobody can read it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from persona_panel.calls.batch_records import BatchRecord, RowMatch
from persona_panel.calls.batch_usage import answer_usage, share_of
from persona_panel.calls.cache import ReplyKey
from persona_panel.files.wording import shown
from persona_panel.models.batches import BatchAnswer, BatchStatus, unreadable_answer
from persona_panel.models.client import CallError
from persona_panel.models.model_names import is_another_model
from persona_panel.rubrics import ModelResponse, Usage
from persona_panel.statistics.core.display import counted

_NO_ANSWER = "no answer in a batch"

Keep = Callable[[ReplyKey, ModelResponse | CallError], None]
"""Keeps the answer to a request, or why there is none."""


class BatchTotals(NamedTuple):
    """What a batch came to.

    Attributes:
        made: the requests whose answers are this run's own.
        each: what each call took.
        n_estimated: how many of these did not say so, and count as their share of the most.
        faults: why requests have no answer, in a word each.
        unanswered: the places of requests that came back without an answer.
        unreadable: the places of those whose answers the results hold, and that cannot be read.
        told: what is to be told a user.
    """

    made: list[ReplyKey]
    each: list[Usage]
    n_estimated: int
    faults: list[str]
    unanswered: list[int]
    unreadable: list[int]
    told: str


class BatchAnswers:
    """The answers of one batch, in whatever order they come.

    Args:
        batch: as it was sent.
        keep: is given each request's answer, and one that is better than a fault before it.

    Attributes:
        share: what a request counts as that does not say what it took.
    """

    def __init__(self, batch: BatchRecord, keep: Keep) -> None:
        self._batch, self._keep = batch, keep
        self._match = RowMatch.of(batch.rows)
        self.share = share_of(batch.most, len(batch.rows))
        self._took: dict[str, Usage] = {}
        self._faults: dict[str, str] = {}
        self._unreadable: set[str] = set()
        self._other_models = Counter[str]()
        self._n_again = 0
        self._is_second_fetch = False
        # Of answers that belong to no request, in the latest fetch.
        self._strange: list[Usage] = []
        self._n_unknown = self._n_unknown_answers = self._n_unnamed = 0

    def fetch_again(self) -> None:
        """What follows are the same results once more."""
        self._is_second_fetch = True
        self._strange = []
        self._n_unknown = self._n_unknown_answers = self._n_unnamed = 0

    def add(self, came: BatchAnswer) -> None:
        """One more. Raises as `keep`."""
        answer = _not_again(came.answer)
        is_fault = isinstance(answer, CallError)
        used = answer_usage(answer, self.share)
        is_call = bool(used) or not isinstance(answer, CallError) or answer.status is not None
        place = self._match.take(came.custom_id, is_fault=is_fault)
        if place == "unknown":
            if came.custom_id is None and is_fault:
                self._n_unnamed += 1
            else:
                self._n_unknown += 1
                self._n_unknown_answers += not is_fault
            if is_call:
                self._strange.append(used)
        if place == "again":
            self._n_again += not self._is_second_fetch
        if place not in ("first", "better"):
            return
        name = came.custom_id
        self._keep(self._match.rows[name], answer)
        self._faults.pop(name, None)
        self._unreadable.discard(name)
        if isinstance(answer, CallError):
            self._faults[name] = f"HTTP {answer.status}" if answer.status else _NO_ANSWER
            if _is_paid(answer):
                self._unreadable.add(name)
        elif came.model is not None and is_another_model(came.model, self._asked):
            self._other_models[came.model] += 1
        if is_call:
            self._took[name] = used

    def lacking(self, status: BatchStatus) -> int:
        """How many answers the provider counts that are missing here or cannot be read."""
        return len(self._unreadable) + self._n_unnamed + self._n_absent(status)

    def are_none(self, status: BatchStatus) -> bool:
        """Whether the results hold nothing that belongs to a request or answers one, although the
        provider counts answers: the page of a proxy in their place, say."""
        return status.done > 0 and not self._match.answered and not self._n_unknown

    def settled(self, status: BatchStatus) -> BatchTotals:
        """What it came to; requests without an answer have one from now on, which says so."""
        missing, n_absent = self._match.missing, self._n_absent(status)
        # Answers under wrong names, and those that the provider counts and that are not there, are
        # paid for as those of the requests that have none.
        strange = [*self._strange, *[self.share] * n_absent][: len(missing)]
        is_held = self._n_unnamed >= len(missing)
        for row in missing:
            said = f"the batch {status.id} is {status.word} without an answer to it"
            fault = unreadable_answer() if is_held else CallError(said, kind="transient")
            self._keep(row, fault)
            self._faults[row.custom_id] = _NO_ANSWER
            if is_held:
                self._unreadable.add(row.custom_id)
        each = [*self._took.values(), *strange]
        cancelled = status.phase == "cancelled"
        return BatchTotals(
            made=[self._match.rows[name] for name in self._took],
            each=each,
            n_estimated=sum(used is self.share for used in each),
            faults=list(self._faults.values()),
            unanswered=[] if cancelled else self._match.places(self._faults),
            unreadable=self._match.places(self._unreadable),
            told="; ".join(self._told(n_absent)),
        )

    @property
    def _asked(self) -> str:
        return self._batch.spec.partition(":")[2]

    def _n_absent(self, status: BatchStatus) -> int:
        """How many answers the provider counts that are not in its results."""
        n_read = len(self._match.answered) - len(self._faults) + self._n_unknown_answers
        n_held = n_read + len(self._unreadable) + self._n_unnamed
        left = len(self._match.missing) - self._n_unnamed
        return max(0, min(status.done - n_held, left))

    def _told(self, n_absent: int) -> Iterator[str]:
        n = len(self._batch.rows)
        verb = "has" if n == 1 else "have"
        yield f"{n - len(self._faults):,} of {counted(n, 'request')} {verb} an answer"
        if n_odd := self._n_again + self._n_unknown:
            yield f"{n_odd:,} rows came twice or belong to no request, and were ignored"
        if self._unreadable:
            said = counted(len(self._unreadable), "answer")
            yield f"{said} cannot be read, paid for all the same and not asked for again"
        if n_absent:
            said = counted(n_absent, "answer")
            yield f"{said} that the provider counts not in its results, to be asked for again"
        for model, n_by_it in self._other_models.items():
            said = counted(n_by_it, "answer")
            yield f"{said} by the model {shown(model)}, not {shown(self._asked)}"


def _is_paid(fault: CallError) -> bool:
    """Whether an answer came, and not an error."""
    return fault.used is None or bool(fault.used)


def _not_again(answer: ModelResponse | CallError) -> ModelResponse | CallError:
    """The same; what is paid for and cannot be read is not to be asked for again."""
    if not isinstance(answer, CallError) or answer.kind != "transient" or not _is_paid(answer):
        return answer
    return CallError(str(answer), kind="rejected", status=answer.status, used=answer.used)
