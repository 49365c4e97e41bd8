"""Responses in a temporary file without a name, to be read in any order."""

from __future__ import annotations

import pickle
import tempfile
from array import array
from collections.abc import Iterable

from persona_panel.files.errors import RunStopped
from persona_panel.graphs import Response


class SpooledResponses:
    """The responses of a source that can only be gone through in its own order, by their places
    in it.

    Eight bytes of each are in memory. The file vanishes with the object, however its process ends.

    Raises:
        RunStopped: the file cannot be written.
    """

    def __init__(self, responses: Iterable[Response]) -> None:
        self._starts = array("q", [0])
        try:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115
            for response in responses:
                n_bytes = self._file.write(pickle.dumps(response))
                self._starts.append(self._starts[-1] + n_bytes)
            self._file.flush()
        except OSError as error:
            raise RunStopped(
                "the responses cannot be copied, to be judged in random order, to a file in "
                f"{tempfile.gettempdir()}: {error.strerror}; make room, or set TMPDIR to another "
                "folder"
            ) from None

    def __getitem__(self, place: int) -> Response:
        start, end = self._starts[place : place + 2]
        self._file.seek(start)
        response: Response = pickle.loads(self._file.read(end - start))  # noqa: S301
        return response
