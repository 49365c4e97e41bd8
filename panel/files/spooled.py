"""Responses in any order, also those of a source that can only be gone through in its own."""

from __future__ import annotations

import pickle
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from persona_panel.files.errors import RunStopped
from persona_panel.graphs import Response


@contextmanager
def by_place(responses: Iterable[Response]) -> Iterator[Callable[[int], Response]]:
    """Yield what gives a response by its place. Those that are no sequence are copied to a
    temporary file without a name, as they need not fit into memory; 8 bytes of each are there.
    Raises RunStopped: the file cannot be written."""
    if isinstance(responses, Sequence):
        yield responses.__getitem__
        return
    starts = array("q", [0])
    with _stopping():
        file = tempfile.TemporaryFile()  # noqa: SIM115
    with file:
        with _stopping():
            for response in responses:
                starts.append(starts[-1] + file.write(pickle.dumps(response)))
            file.flush()

        def read(place: int) -> Response:
            start, end = starts[place : place + 2]
            file.seek(start)
            response: Response = pickle.loads(file.read(end - start))  # noqa: S301
            return response

        yield read


@contextmanager
def _stopping() -> Iterator[None]:
    """Raise RunStopped, with what to do, where the file cannot be written."""
    try:
        yield
    except OSError as error:
        raise RunStopped(
            "the responses cannot be copied, to be judged in random order, to a file in "
            f"{tempfile.gettempdir()}: {error.strerror}; make room, or set TMPDIR to another folder"
        ) from None
