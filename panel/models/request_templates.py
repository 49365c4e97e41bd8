"""Bodies of requests that are told apart by their texts alone.

A provider's package takes milliseconds to make the body of a request. It makes one of each form,
with marks in the place of texts; the others are that one with their own texts. A form is used only
if it brings, of a request that was made by the package, the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple
from uuid import uuid4

import orjson

from persona_panel.rubrics import ModelRequest


class SentRequest(NamedTuple):
    """What a chat model would send: its body as orjson writes it, and the headers with it."""

    body: bytes
    headers: Mapping[str, str]


class _Template(NamedTuple):
    """A body without its texts: what stands before, between and behind them, and which they are."""

    parts: list[bytes]
    texts: list[int]
    headers: Mapping[str, str]

    def filled(self, texts: list[str]) -> bytes:
        pieces = [self.parts[0]]
        for place, part in zip(self.texts, self.parts[1:], strict=True):
            # Without the quotes: a text may stand within a longer one.
            pieces += [orjson.dumps(texts[place])[1:-1], part]
        return b"".join(pieces)


class RequestTemplates:
    """Makes what would be sent for requests.

    Args:
        make: how the package makes one; raises what it raises.
    """

    def __init__(self, make: Callable[[ModelRequest], SentRequest]) -> None:
        self._make = make
        self._mark = f"text-{uuid4().hex}-"
        self._met: set[object] = set()
        # None: of this form there is none.
        self._templates: dict[object, _Template | None] = {}

    def sent(self, request: ModelRequest) -> SentRequest:
        """What would be sent. Raises as `make`."""
        form = _form_of(request)
        if (template := self._templates.get(form)) is not None:
            try:
                return SentRequest(template.filled(_texts_of(request)), template.headers)
            except orjson.JSONEncodeError:
                # Half a character: let the package say what it makes of it.
                return self._make(request)
        made = self._make(request)
        if form not in self._met:
            # Many a form has one request only.
            self._met.add(form)
        elif form not in self._templates:
            self._templates[form] = self._template(request, made)
        return made

    def _template(self, request: ModelRequest, made: SentRequest) -> _Template | None:
        marked = self._make(_with_texts(request, self._marked(request)))
        mark = re.compile(rb"%b(\d+)-" % self._mark.encode())
        pieces = mark.split(marked.body)
        places = [int(place) for place in pieces[1::2]]
        template = _Template(pieces[::2], places, made.headers)
        is_same = template.filled(_texts_of(request)) == made.body
        return template if is_same else None

    def _marked(self, request: ModelRequest) -> Iterator[str]:
        for place, text in enumerate(_texts_of(request)):
            yield f"{self._mark}{place}-" if text.strip() else text


def _texts_of(request: ModelRequest) -> list[str]:
    turns = [text for turn in request.exchange for text in turn]
    return [request.system, *request.blocks, *turns]


def _with_texts(request: ModelRequest, texts: Iterator[str]) -> ModelRequest:
    return replace(
        request,
        system=next(texts),
        blocks=tuple(next(texts) for _ in request.blocks),
        exchange=tuple((next(texts), next(texts)) for _ in request.exchange),
    )


def _form_of(request: ModelRequest) -> object:
    """All that a body may depend on but the words of the texts: packages leave out blank texts, and
    may cut spaces off the ends of others."""
    schema = None if request.schema is None else orjson.dumps(request.schema, default=dict)
    ends = tuple(
        (text[0].isspace(), text[-1].isspace()) if text.strip() else text
        for text in _texts_of(request)
    )
    return (
        ends,
        len(request.blocks),
        request.prefill,
        schema,
        request.top_logprobs,
        request.max_tokens,
    )
