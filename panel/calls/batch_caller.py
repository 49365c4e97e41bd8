"""The way from a request to a reply where the replies come hours later, in batches.

A run goes in rounds. In each, all judges are asked while the caller is `collecting`: the cache
answers what it can, and what it lacks is gathered, not called for. The gathered requests are
answered elsewhere, their replies go into the cache, and the next round begins, in which what
follows from them is asked. Once nothing is lacking the run itself is made from the cache alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO, Any, Literal

import orjson

from persona_panel.calls.budget import Budget, no_room, unwritable
from persona_panel.calls.cache import CannotBeKept, ReplyKey, ReplyStore, key_of
from persona_panel.calls.caller import Caller, form_of, without_keys
from persona_panel.calls.endpoint import (
    Endpoint,
    estimated_tokens,
    is_spent_on_thinking,
    most_usage,
)
from persona_panel.graphs.context import Unanswered
from persona_panel.models.batches import BatchApi, unreadable_answer
from persona_panel.models.client import NOTHING, CallError, parameters_of
from persona_panel.rubrics import ModelRequest, ModelResponse, Usage

TRIES = 3
"""The most times that a request is sent in batches of a run if it comes back without an answer,
however often the run is started."""
_WAITS = "its answer has not come yet"
_NO_ANSWER_BEFORE = "batches of an earlier start brought no answer to it"
_NOT_ASKED = "no batch had an answer"


@dataclass(slots=True)
class WantedRows:
    """Requests of one model that the cache does not answer, as rows of batches.

    The rows are in a file of `folder`, without a buffer: a hundred thousand would fill the memory.
    `lines` reads some.
    """

    file: IO[bytes]
    folder: Path
    rows: list[ReplyKey] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    most: list[Usage] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _names: set[str] = field(default_factory=set)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, row: ReplyKey, line: bytes, most: Usage) -> None:
        """Add a request; `most` is the most usage that it may take. Raises Abort: there is no room
        for it."""
        try:
            start = self.file.tell()
            if self.file.write(line) != len(line):
                raise OSError(28, "No space left on device")
        except OSError as error:
            raise no_room(self.folder, error) from None
        self._names.add(row.custom_id)
        self._starts.append(start)
        self.rows.append(row)
        self.sizes.append(len(line) + 1)
        self.most.append(most)

    def lines(self, places: range) -> Iterator[bytes]:
        """Yield the rows at these places."""
        for place in places:
            self.file.seek(self._starts[place])
            yield self.file.read(self.sizes[place] - 1)


class BatchCaller(Caller):
    """A caller that calls models until it collects; then it calls only those that have no batches.
    `apis`: the batches of models, by name; `others_too`: whether models without batches are called
    while it collects; else they are once all others are answered; `endpoints`, `cache`, `budget`,
    `seed`, `read_ahead`: see `Caller`."""

    def __init__(
        self,
        apis: Mapping[str, BatchApi],
        endpoints: Mapping[str, Endpoint],
        cache: ReplyStore,
        budget: Budget,
        *,
        others_too: bool = False,
        seed: int = 0,
        read_ahead: Callable[[str, bytes], Awaitable[object]] | None = None,
    ) -> None:
        super().__init__(endpoints, cache, budget, seed=seed, read_ahead=read_ahead)
        self.apis = dict(apis)
        self._others_too = others_too
        self._stage: Literal["calling", "collecting", "reading"] = "calling"
        self._wanted: dict[str, WantedRows] = {}
        # By custom id: how often a request went in a batch, and why it came back without an answer.
        self._sent: Counter[str] = Counter()
        self._faults: dict[str, CallError] = {}
        self._fresh: set[str] = set()
        self._fresh_before: set[str] = set()
        self._raised: set[str] = set()
        self.known: dict[str, tuple[str, ReplyKey]] | None = None
        """The requests that were met since it began to collect, by custom id, each with its model;
        None where nobody wants to know."""
        self.cap: str | None = None
        """The cap that forbids a further batch, None if none does."""

    async def complete(
        self,
        model: str,
        request: ModelRequest,
        page: str,
        replicate: int = 1,
        *,
        cut_is_usable: bool = False,
    ) -> ModelResponse:
        """Answer as `Caller.complete` does; the judgment is `skipped` while the answer is still to
        come."""
        if self._stage == "calling":
            return await super().complete(
                model, request, page, replicate, cut_is_usable=cut_is_usable
            )
        row = ReplyKey(page, key_of(request, replicate))
        name = row.custom_id
        if self.known is not None and model in self.apis:
            self.known[name] = model, row
        if model not in self.apis:
            if self._stage == "collecting" and not self._others_too:
                raise Unanswered("skipped", _WAITS)
            reply = await super().complete(
                model, request, page, replicate, cut_is_usable=cut_is_usable
            )
            if not reply.cached:
                self._fresh.add(name)
            return self._as_it_came(reply, name)
        asked = self._endpoints[model].answer_limit.applied_to(request)
        if (kept := self._cache.get(page, row.key)) is not None:
            self.counts.cached += 1
            self._note_name(model, kept)
            is_cut = kept.finish_reason == "length" and (
                not cut_is_usable or is_spent_on_thinking(kept)
            )
            higher = self._raised_limit(model, request, asked, name) if is_cut else None
            if higher is None:
                return self._as_it_came(kept, name)
            asked = higher
        if self._stage == "collecting" and self._may_go(name):
            try:
                self._want(model, row, asked)
            except CallError as refused:
                # By the provider's package, before anything is sent.
                self._faults[name] = refused
                raise Unanswered("failed", str(refused)) from None
            raise Unanswered("skipped", _WAITS)
        if (fault := self._faults.get(name)) is not None:
            often = f" (in {self._sent[name]} batches)" if self._sent[name] > 1 else ""
            raise Unanswered("failed", f"{fault}{often}")
        raise Unanswered("skipped", self.cap or _NOT_ASKED)

    def kept_reply(
        self, model: str, request: ModelRequest, page: str, replicate: int = 1
    ) -> ModelResponse | None:
        """Return a reply as `Caller.kept_reply` does; None where batches answer."""
        if self._stage != "calling":
            return None
        return super().kept_reply(model, request, page, replicate)

    def forget(self, answered: Any, page: str, replicate: int = 1) -> None:
        """Forget replies as `Caller.forget` does, but only in the run itself: rounds leave the
        cache as it is."""
        if self._stage != "collecting":
            super().forget(answered, page, replicate)

    @contextmanager
    def collecting(
        self, folder: Path | None = None, *, known: bool = False
    ) -> Iterator[Mapping[str, WantedRows]]:
        """Gather what the cache lacks, by model, for as long as the block lasts. `folder`: where
        there is room for the requests; None, the system's; `known`: whether `known` is to have all
        requests that are met, answered or not. Raises Abort: there is none."""
        place = Path(gettempdir()) if folder is None else folder
        with ExitStack() as files:
            self._stage, self._wanted = "collecting", {}
            self.known = {} if known else None
            for model in self.apis:
                try:
                    file = files.enter_context(TemporaryFile(buffering=0, dir=place))
                except OSError as error:
                    raise no_room(place, error) from None
                self._wanted[model] = WantedRows(file, place)
            yield self._wanted
        self._wanted = {}

    def read_only(self) -> None:
        """Answer batched models from the cache alone from now on. Counts of its answers begin anew,
        since rounds have read them before."""
        self._stage = "reading"
        self.counts.cached = 0

    def kept(self, row: ReplyKey) -> ModelResponse | None:
        """Return the reply that the cache has."""
        return self._cache.get(row.page, row.key)

    def sent(self, rows: list[ReplyKey]) -> None:
        """Note that these requests go in a batch."""
        self._sent.update(row.custom_id for row in rows)

    def tried_before(self, rows: Iterable[ReplyKey]) -> None:
        """Note that these requests went in a batch of an earlier process, and came back without an
        answer."""
        for row in rows:
            self._sent[row.custom_id] += 1
            self._faults[row.custom_id] = CallError(_NO_ANSWER_BEFORE, kind="transient")

    def unreadable_before(self, rows: Iterable[ReplyKey]) -> None:
        """Note that the answers to these requests are paid for and cannot be read."""
        for row in rows:
            self._faults[row.custom_id] = unreadable_answer()

    def take(self, model: str, row: ReplyKey, answer: ModelResponse | CallError) -> None:
        """Keep the answer to a request, or why there is none. Raises Abort: the cache cannot be
        written."""
        name = row.custom_id
        if isinstance(answer, CallError):
            self._faults[name] = answer
            return
        reply = without_keys(answer, model)
        try:
            self._cache.put(row.page, row.key, reply)
        except CannotBeKept as odd:
            fault = f"the reply cannot be stored: {odd}"
            self._faults[name] = CallError(fault, kind="rejected", used=reply.usage)
        except Exception as error:
            raise unwritable(self._cache, error) from None
        else:
            self._faults.pop(name, None)
            self._endpoints[model].answer_limit.learn(reply)

    def answered_before(self, names: Iterable[str]) -> None:
        """Note that earlier processes of this run have sent each of these requests once, with the
        usual limit, so that an answer that was cut off must still be asked for with a higher one.
        """
        self._fresh_before.update(names)

    def made(
        self, name: str, rows: list[ReplyKey], used: Usage, n_estimated: int, each: Usage
    ) -> None:
        """Count the calls of a batch, whose answers to these rows are this run's own. `name`: under
        which they are counted, see `batched_name`; `n_estimated`: how many did not say what they
        took, and are in `used` with `each`."""
        self.counts.made += len(rows)
        if used:
            self._note(name, used, is_estimate=False)
        if n_estimated:
            estimated = self.counts.estimated
            estimated.calls += n_estimated
            total = sum([each] * n_estimated, estimated.usage.get(name, NOTHING))
            estimated.usage[name] = total
        self._fresh.update(row.custom_id for row in rows)

    def _may_go(self, name: str) -> bool:
        fault = self._faults.get(name)
        return fault is None or (fault.kind == "transient" and self._sent[name] < TRIES)

    def _raised_limit(
        self, model: str, request: ModelRequest, asked: ModelRequest, name: str
    ) -> ModelRequest | None:
        """Return the request with a higher limit, where its answer was cut off in this run and it
        has not been sent with one."""
        if self._stage != "collecting" or name in self._raised:
            return None
        if name not in self._fresh and name not in self._fresh_before:
            return None
        self._raised.add(name)
        return self._endpoints[model].answer_limit.raised(request, asked)

    def _want(self, model: str, row: ReplyKey, asked: ModelRequest) -> None:
        wanted = self._wanted[model]
        if (name := row.custom_id) not in wanted:
            line = self.apis[model].line(name, asked)
            if (form := form_of(model, asked)) not in self._noted:
                self._noted.add(form)
                bodies = [part for part in orjson.loads(line).values() if isinstance(part, dict)]
                self.counts.add_sent(model, [parameters_of(body) for body in bodies])
            wanted.add(row, line, most_usage(asked, estimated_tokens(asked)))

    def _as_it_came(self, reply: ModelResponse, name: str) -> ModelResponse:
        """Return a reply; one that this run has brought does not count as one from the cache."""
        if reply.cached and name in self._fresh:
            self.counts.cached -= 1
            return replace(reply, cached=False)
        return reply
