"""A store of replies in memory, and the check for authors of stores."""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Mapping
from dataclasses import Field, fields, replace
from typing import Any, Final

from persona_panel.calls.cache import CannotBeKept, ReplyStore
from persona_panel.rubrics import ModelResponse, Position, Usage
from persona_panel.testing.conformance import require


class MemoryReplyStore:
    """A `ReplyStore` that forgets all when the process ends.

    `replies` is where they are kept; two stores of one mapping see the same.
    """

    location = "memory"

    def __init__(self, replies: dict[tuple[str, bytes], ModelResponse] | None = None) -> None:
        self._replies = {} if replies is None else replies

    def get(self, page: str, key: bytes) -> ModelResponse | None:
        return self._replies.get((page, key))

    def put(self, page: str, key: bytes, reply: ModelResponse) -> None:
        try:
            reply.text.encode()
        except UnicodeEncodeError as error:
            raise CannotBeKept(str(error)) from None
        self._replies[page, key] = replace(reply, cached=True)

    def forget(self, page: str, key: bytes, reply: ModelResponse) -> None:
        if self._replies.get((page, key)) == replace(reply, cached=True):
            del self._replies[page, key]

    def sync(self) -> None:
        """Do nothing: there is no disk."""

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


OpenStore = Callable[[], ReplyStore]
_Expected = Mapping[tuple[str, bytes], ModelResponse | None]

_PAGE, _OTHER, _THIRD = "a" * 64, "b" * 64, "c" * 64
_KEYS = [bytes([n]) * 32 for n in range(3)]
_KILLED_WITHIN_S = 60.0


def check_reply_store(open_store: OpenStore, *, in_memory: bool = False) -> None:
    """Check that a storage keeps replies as `persona_panel.calls.cache.ReplyStore` says.

    What `put` has returned from must outlive its process: replies are put in a child of this
    process, which is killed at once, and looked up here. That is left out where processes cannot be
    forked (Windows).

    Args:
        open_store: opens one and the same storage each time it is called, empty at first.
        in_memory: the storage is meant to hold nothing for longer than its process lives; no
            process is killed.
    """
    store = open_store()
    require(bool(store.location), "location says where replies are kept")
    require(store.get(_PAGE, _KEYS[0]) is None, "the storage is not empty at first")
    store.close()
    if not in_memory and "fork" in multiprocessing.get_all_start_methods():
        _check_after_a_kill(open_store)
    store = open_store()
    expected = _put_into(store, _PAGE, _OTHER)
    try:
        store.put(_PAGE, _KEYS[2], ModelResponse("\ud800"))
    except CannotBeKept:
        pass
    else:
        reply = store.get(_PAGE, _KEYS[2])
        require(
            reply is not None and reply.text == "\ud800",
            "a text with half a surrogate pair is neither kept nor refused by CannotBeKept",
        )
        store.forget(_PAGE, _KEYS[2], ModelResponse("\ud800"))
    _require_served(store, expected, "at once")
    store.sync()
    _require_served(store, expected, "after sync()")
    # Several processes may have it open: what one keeps, another does not undo.
    second = open_store()
    second.put(_THIRD, _KEYS[0], SAMPLE)
    store.put(_THIRD, _KEYS[1], SAMPLE)
    second.close()
    _require_served(store, expected, "once another store of this storage was closed")
    store.close()
    kept = replace(SAMPLE, cached=True)
    store = open_store()
    both = {(_THIRD, _KEYS[0]): kept, (_THIRD, _KEYS[1]): kept}
    _require_served(store, {**expected, **both}, "by the next store")
    store.close()


def _check_after_a_kill(open_store: OpenStore) -> None:
    child = multiprocessing.get_context("fork").Process(
        target=_put_and_die, args=(open_store,), daemon=True
    )
    with warnings.catch_warnings():
        # Of a process with threads; the child uses none of theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    child.join(_KILLED_WITHIN_S)
    if child.is_alive():
        child.kill()
        child.join()
        within = f"within {_KILLED_WITHIN_S:g} s"
        raise AssertionError(f"put() does not return {within} in a forked child of this process")
    require(
        child.exitcode == -signal.SIGKILL,
        "put() or forget() fails in a forked child of this process; stderr says why",
    )
    store = open_store()
    _require_served(store, _expected("d" * 64, "e" * 64), "after a kill of the process that put it")
    store.close()


def _put_and_die(open_store: OpenStore) -> None:
    _put_into(open_store(), "d" * 64, "e" * 64)
    os.kill(os.getpid(), signal.SIGKILL)


def _put_into(store: ReplyStore, page: str, other: str) -> _Expected:
    """Put and forget replies; returns those that are then served."""
    store.put(page, _KEYS[0], ModelResponse("earlier"))
    store.put(page, _KEYS[0], SAMPLE)
    store.put(page, _KEYS[1], _LARGE)
    store.put(other, _KEYS[2], SAMPLE)
    store.put(other, _KEYS[0], ModelResponse("dropped"))
    store.forget(other, _KEYS[0], ModelResponse("dropped", cached=True))
    store.forget(other, _KEYS[1], SAMPLE)
    # Another process may have put it in place of what is dropped.
    store.forget(other, _KEYS[2], ModelResponse("earlier"))
    return _expected(page, other)


def _expected(page: str, other: str) -> _Expected:
    return {
        (page, _KEYS[0]): replace(SAMPLE, cached=True),
        (page, _KEYS[1]): replace(_LARGE, cached=True),
        (page, _KEYS[2]): None,
        (other, _KEYS[2]): replace(SAMPLE, cached=True),
        (other, _KEYS[0]): None,
    }


def _require_served(store: ReplyStore, expected: _Expected, when: str) -> None:
    for (page, key), reply in expected.items():
        served = store.get(page, key)
        # Field by field: some do not count in a comparison.
        require(
            _values(served) == _values(reply),
            f"what was put is not served {when} as it was, but for cached=True: "
            f"found {_in_words(served, reply)}, expected {_in_words(reply, served)}",
        )


def _values(reply: ModelResponse | None) -> dict[str, Any] | None:
    if reply is None:
        return None
    return {field.name: getattr(reply, field.name) for field in fields(reply)}


def _in_words(reply: ModelResponse | None, other: ModelResponse | None) -> str:
    """Return a reply in words; where there is another, what differs."""
    values, others = _values(reply), _values(other)
    if values is None or others is None:
        return str(reply)[:200]
    differing = [
        f"{name}={values[name]!r}"[:200] for name in values if values[name] != others[name]
    ]
    return ", ".join(differing)


def _value(field: Field[Any], number: int) -> Any:
    """Return a value that is not the field's default."""
    match field.type:
        case "int":
            return 1_000 // number
        case "float":
            return number + 0.25
        case "str" | "str | None":
            return f"{field.name}: Grüße 🙂\n"
    raise TypeError(f"{field.name} is a {field.type}, of which there is no example")


def _filled() -> ModelResponse:
    """Return a reply in which each field has a value other than its default, except `cached`, which
    no reply has that is put."""
    usage = Usage(**{field.name: _value(field, n) for n, field in enumerate(fields(Usage), 1)})
    values: dict[str, Any] = {
        "logprobs": (Position("7", (("7", -0.1), ("8", -2.5))),),
        "usage": usage,
        "cached": False,
    }
    others = [field for field in fields(ModelResponse) if field.name not in values]
    return ModelResponse(**values, **{field.name: _value(field, 1) for field in others})


SAMPLE: Final = _filled()
_LARGE: Final = ModelResponse("x" * 1_000_000)
