"""The states of a batch, and its answers matched with its requests and counted: pure rules, no
I/O. Each change of a state is a record of a journal (`persona_panel.calls.batch_rounds`).

The results of an ended batch are fetched once more where they lack an answer that the provider
counts, or hold one that cannot be read: a download may have been cut off. What they hold is paid
for and not asked for again, even if it cannot be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeVar

from persona_panel.calls.cache import ReplyKey
from persona_panel.files.wording import shown
from persona_panel.models.batches import BatchAnswer, BatchSought, BatchStatus, unreadable_answer
from persona_panel.models.client import NOTHING, CallError, is_another_model, sound
from persona_panel.rubrics import ModelResponse, Usage
from persona_panel.statistics.core.display import counted


def may_have_arrived(fault: CallError | TimeoutError) -> bool:
    """Return whether a batch may have reached the provider despite a fault: not if it asked to
    wait, or no connection was made."""
    if isinstance(fault, TimeoutError):
        return True
    return fault.status != 429 and (fault.status is not None or fault.used is None)


def wait_after(fault: CallError | TimeoutError, otherwise: float) -> float:
    """Return how many seconds to wait: as the fault asks, else `otherwise`."""
    wait_s = fault.retry_after if isinstance(fault, CallError) else None
    return otherwise if wait_s is None else wait_s


def answer_usage(answer: ModelResponse | CallError, share: Usage) -> Usage:
    """Return the usage of an answer; where it reports none, its share of the most that the batch
    may take."""
    usage = answer.used if isinstance(answer, CallError) else answer.usage or None
    if usage is None:
        return share
    used = sound(usage)
    return used if used.input or not usage else share


def beyond(usage: Usage, other: Usage) -> Usage:
    """Return the part of a usage that is beyond another."""
    return Usage(
        max(0, usage.input - other.input),
        max(0, usage.cached - other.cached),
        max(0, usage.output - other.output),
        max(0, usage.written - other.written),
        reasoning=max(0, usage.reasoning - other.reasoning),
    )


def share_of(most: Usage, n: int) -> Usage:
    """Return the share of one of `n` rows in the most that all may take, rounded up."""
    return Usage(-(-most.input // max(n, 1)), output=-(-most.output // max(n, 1)))


T = TypeVar("T")
BatchState = Literal["prepared", "submitted", "settled", "dropped"]
_NEXT: Mapping[str, tuple[BatchState, ...]] = {
    "submitted": ("prepared",),
    "dropped": ("prepared", "submitted"),
    "settled": ("submitted",),
}
"""The states in which each change can happen."""


class DamagedJournal(ValueError):
    """A record is none that can follow those before it; the message says why."""


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """A batch as the journal knows it.

    Attributes:
        token: its name, which the provider stores with it.
        model: the id of the model in its panel.
        spec: `provider:name` of the model.
        address: of the provider's server.
        key_env: the environment variable that holds the key; None, the provider's usual one.
        settings: what else makes a client that reaches it: `timeout`, and the options that its
            client names (`persona_panel.models.batches.BatchClient.settings`).
        headers: the names of other headers, whose values are not written down.
        rows: what it asks.
        most: what it may take at most, for caps.
        prepared_at: seconds since 1970.
        id: the provider's; None as long as it is not known.
        calls, used: what it took, once settled.
        outcome: the provider's word for how it ended, or why it was dropped.
        line: of the journal's, on which it was prepared, from 1; 0 where it was not read from one.
        unanswered: the rows that came back without an answer, other than as it was cancelled.
        unreadable: the rows whose answers cannot be read, and are not asked for again.
    """

    token: str
    model: str
    spec: str
    address: str
    key_env: str | None
    rows: tuple[ReplyKey, ...]
    most: Usage
    prepared_at: float
    state: BatchState = "prepared"
    id: str | None = None
    calls: int = 0
    used: Usage = NOTHING
    outcome: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    headers: tuple[str, ...] = ()
    line: int = field(default=0, compare=False)
    unanswered: tuple[ReplyKey, ...] = ()
    unreadable: tuple[ReplyKey, ...] = ()

    @property
    def open(self) -> bool:
        """Return whether it may still bring answers."""
        return self.state in ("prepared", "submitted")


def sought(batch: BatchRecord, all_: Iterable[BatchRecord]) -> BatchSought:
    """Return the description by which a provider looks for a batch without an id; `all_` are the
    batches of its run."""
    others = frozenset(other.id for other in all_ if other.id is not None)
    return BatchSought(batch.token, batch.prepared_at, len(batch.rows), others)


# Records


def prepared(batch: BatchRecord) -> dict[str, Any]:
    """Return the record of a batch that is about to be sent."""
    return {
        "change": "prepared",
        "token": batch.token,
        "model": batch.model,
        "spec": batch.spec,
        "address": batch.address,
        "key_env": batch.key_env,
        "rows": [[row.page, row.key.hex()] for row in batch.rows],
        "most": [batch.most.input, batch.most.output],
        "at": batch.prepared_at,
        "settings": batch.settings,
        "headers": batch.headers,
    }


def submitted(token: str, id_: str) -> dict[str, Any]:
    """Return the record of a batch that is at the provider under this id."""
    return {"change": "submitted", "token": token, "id": id_}


def dropped(token: str, why: str) -> dict[str, Any]:
    """Return the record of a batch that never came to be."""
    return {"change": "dropped", "token": token, "why": why}


def settled(
    token: str,
    calls: int,
    used: Usage,
    outcome: str,
    unanswered: Sequence[int] = (),
    unreadable: Sequence[int] = (),
) -> dict[str, Any]:
    """Return the record of a batch whose answers are in the cache; `unanswered` and `unreadable`
    are places of rows."""
    return {
        "change": "settled",
        "token": token,
        "calls": calls,
        "used": [used.input, used.cached, used.output, used.written, used.reasoning],
        "outcome": outcome,
        "unanswered": list(unanswered),
        "unreadable": list(unreadable),
    }


def batches_in(records: Iterable[Mapping[str, Any]]) -> dict[str, BatchRecord]:
    """Return the batches that records describe, by token, in the order in which they were prepared.
    Raises DamagedJournal: a record cannot be read, or cannot follow those before it."""
    batches: dict[str, BatchRecord] = {}
    for number, record in enumerate(records, start=1):
        try:
            batch = after(record, batches.get(str(record["token"])))
        except DamagedJournal as error:
            raise DamagedJournal(f"line {number}: {error}") from None
        except (LookupError, TypeError, ValueError, AttributeError):
            raise DamagedJournal(f"line {number} is not the record of a batch") from None
        batches[batch.token] = batch if batch.line else replace(batch, line=number)
    return batches


def after(record: Mapping[str, Any], batch: BatchRecord | None) -> BatchRecord:
    """Return a batch after one more change; `batch` is None where there was none of its token
    before. Raises DamagedJournal: the change cannot follow; LookupError, TypeError, ValueError,
    AttributeError: it is no change."""
    change = record["change"]
    if change == "prepared":
        if batch is not None:
            raise DamagedJournal(f"the batch {batch.token} is prepared twice")
        read, answered = _field(record, "most", _two, "two numbers")
        rows = _field(record, "rows", _reply_keys, "pages with keys")
        return BatchRecord(
            token=str(record["token"]),
            model=_field(record, "model", _text, "text"),
            spec=_field(record, "spec", _text, "text"),
            address=_field(record, "address", _text, "text"),
            key_env=_field(record, "key_env", lambda name: name and _text(name), "text or null"),
            rows=rows,
            most=Usage(input=read, output=answered, written=read),
            prepared_at=_field(record, "at", float, "a number"),
            settings=_field(record, "settings", dict, "names and values"),
            headers=_field(record, "headers", lambda names: tuple(map(_text, names)), "names"),
        )
    if change not in _NEXT:
        raise DamagedJournal(f"{change!r} is not a change of a batch")
    if batch is None or batch.state not in _NEXT[change]:
        state = "unknown" if batch is None else batch.state
        raise DamagedJournal(f"a batch that is {state} cannot be {change}")
    if change == "submitted":
        return replace(batch, state="submitted", id=str(record["id"]))
    if change == "dropped":
        return replace(batch, state="dropped", outcome=str(record["why"]))
    read, cached, answered, written, reasoning = map(int, record["used"])
    return replace(
        batch,
        state="settled",
        calls=int(record["calls"]),
        used=Usage(read, cached, answered, written, reasoning=reasoning),
        outcome=str(record["outcome"]),
        # Not in journals of earlier versions.
        unanswered=tuple(batch.rows[place] for place in record.get("unanswered", ())),
        unreadable=tuple(batch.rows[place] for place in record.get("unreadable", ())),
    )


def _field(record: Mapping[str, Any], name: str, read: Callable[[Any], T], expected: str) -> T:
    try:
        return read(record[name])
    except KeyError:
        raise DamagedJournal(f"{name}: found nothing; expected {expected}") from None
    except (LookupError, TypeError, ValueError, AttributeError):
        value = shown(record[name])
        raise DamagedJournal(f"{name}: found {value}; expected {expected}") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _two(values: Any) -> tuple[int, int]:
    first, other = map(int, values)
    return first, other


def _reply_keys(pairs: Any) -> tuple[ReplyKey, ...]:
    return tuple(ReplyKey(_text(page), bytes.fromhex(key)) for page, key in pairs)


# Rows


def parts_of(sizes: Sequence[int], most_rows: int, most_bytes: int) -> Iterator[range]:
    """Divide rows of these sizes in bytes, in their order, into as few parts as keep both limits.

    A row that is larger than a part may be is a part of its own: the provider says what it thinks
    of it.
    """
    first = total = 0
    for place, size in enumerate(sizes):
        if place > first and (place - first == most_rows or total + size > most_bytes):
            yield range(first, place)
            first, total = place, 0
        total += size
    if first < len(sizes):
        yield range(first, len(sizes))


Place = Literal["first", "better", "again", "unknown"]


@dataclass(slots=True)
class RowMatch:
    """The match between the answers of a batch, which come in any order, and its rows."""

    rows: Mapping[str, ReplyKey]
    """The rows by custom id."""
    answered: set[str] = field(default_factory=set)
    _faulty: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, rows: Iterable[ReplyKey]) -> RowMatch:
        return cls({row.custom_id: row for row in rows})

    def take(self, custom_id: object, *, is_fault: bool) -> Place:
        """Return the place of an answer of this name: a row's `first`, `better` than the faults
        before it, there `again`, or `unknown` where it is of no row."""
        if not isinstance(custom_id, str) or custom_id not in self.rows:
            return "unknown"
        if custom_id not in self.answered:
            self.answered.add(custom_id)
            if is_fault:
                self._faulty.add(custom_id)
            return "first"
        if is_fault or custom_id not in self._faulty:
            return "again"
        self._faulty.remove(custom_id)
        return "better"

    def places(self, names: Container[str]) -> list[int]:
        """Return the places of the rows of these names among all."""
        return [place for place, name in enumerate(self.rows) if name in names]

    @property
    def missing(self) -> list[ReplyKey]:
        """The rows without an answer, in their order, as of a batch that expired or broke off."""
        return [row for name, row in self.rows.items() if name not in self.answered]


_NO_ANSWER = "no answer in a batch"

Keep = Callable[[ReplyKey, ModelResponse | CallError], None]
"""A function that keeps the answer to a request, or why there is none."""


class BatchTotals(NamedTuple):
    """The totals of a batch.

    Attributes:
        made: the requests whose answers are this run's own.
        each: the usage of each call.
        n_estimated: how many of these did not report it, and count as their share of the most.
        faults: why requests have no answer, in a word each.
        unanswered: the places of requests that came back without an answer.
        unreadable: the places of those whose answers are in the results but cannot be read.
        message: a sentence for a user.
    """

    made: list[ReplyKey]
    each: list[Usage]
    n_estimated: int
    faults: list[str]
    unanswered: list[int]
    unreadable: list[int]
    message: str


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
        """Begin to take the same results once more."""
        self._is_second_fetch = True
        self._strange = []
        self._n_unknown = self._n_unknown_answers = self._n_unnamed = 0

    def add(self, came: BatchAnswer) -> None:
        """Take an answer. Raises as `keep`."""
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
        """Return how many answers the provider counts that are missing here or cannot be read."""
        return len(self._unreadable) + self._n_unnamed + self._n_absent(status)

    def are_none(self, status: BatchStatus) -> bool:
        """Return whether the results hold nothing that belongs to a request or answers one,
        although the provider counts answers: they may be a proxy's page."""
        return status.done > 0 and not self._match.answered and not self._n_unknown

    def settled(self, status: BatchStatus) -> BatchTotals:
        """Return the batch's totals; requests that still have no answer get an error that says
        so.
        """
        missing, n_absent = self._match.missing, self._n_absent(status)
        # Answers under wrong names, and those that the provider counts and that are not there, are
        # paid for as those of the requests that have none.
        strange = [*self._strange, *[self.share] * n_absent][: len(missing)]
        is_held = self._n_unnamed >= len(missing)
        for row in missing:
            reason = f"the batch {status.id} is {status.word} without an answer to it"
            fault = unreadable_answer() if is_held else CallError(reason, kind="transient")
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
            message="; ".join(self._counts_in_words(n_absent)),
        )

    @property
    def _asked(self) -> str:
        return self._batch.spec.partition(":")[2]

    def _n_absent(self, status: BatchStatus) -> int:
        """Return how many answers the provider counts that are not in its results."""
        n_read = len(self._match.answered) - len(self._faults) + self._n_unknown_answers
        n_held = n_read + len(self._unreadable) + self._n_unnamed
        left = len(self._match.missing) - self._n_unnamed
        return max(0, min(status.done - n_held, left))

    def _counts_in_words(self, n_absent: int) -> Iterator[str]:
        n = len(self._batch.rows)
        verb = "has" if n == 1 else "have"
        yield f"{n - len(self._faults):,} of {counted(n, 'request')} {verb} an answer"
        if n_odd := self._n_again + self._n_unknown:
            yield f"{n_odd:,} rows came twice or belong to no request, and were ignored"
        if self._unreadable:
            answers = counted(len(self._unreadable), "answer")
            yield f"{answers} cannot be read, paid for all the same and not asked for again"
        if n_absent:
            answers = counted(n_absent, "answer")
            yield f"{answers} that the provider counts not in its results, to be asked for again"
        for model, n_by_it in self._other_models.items():
            answers = counted(n_by_it, "answer")
            yield f"{answers} by the model {shown(model)}, not {shown(self._asked)}"


def _is_paid(fault: CallError) -> bool:
    """Return whether an answer came, and not an error."""
    return fault.used is None or bool(fault.used)


def _not_again(answer: ModelResponse | CallError) -> ModelResponse | CallError:
    """Return the answer, with an error changed so that what is paid for and cannot be read is not
    asked for again."""
    if not isinstance(answer, CallError) or answer.kind != "transient" or not _is_paid(answer):
        return answer
    return CallError(str(answer), kind="rejected", status=answer.status, used=answer.used)
