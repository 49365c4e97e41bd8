"""Bodies of requests by templates: those of the providers' own packages, byte by byte."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import orjson
import pytest

from persona_panel.models.batches import BatchClient
from persona_panel.models.config import ModelConfig
from persona_panel.models.langchain_batches import RequestTemplates, SentRequest
from persona_panel.models.providers import client_for
from persona_panel.rubrics import ModelRequest

ASK = ModelRequest("You judge.", ("Read this. ", "Rate it."))
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}
FORMS = [
    ASK,
    replace(ASK, schema=SCHEMA),
    replace(ASK, system=""),
    replace(ASK, blocks=("One text.",)),
    replace(ASK, blocks=("One text.\n", " ", "And another. ")),
    replace(ASK, exchange=(("I liked it. ", "A number, please."),), schema=SCHEMA),
    replace(ASK, exchange=(("", "A number, please."),)),
]
WORDS = ['"quoted" \\ and \t tabbed', "naïve 🙂 text", "</response>\n{}", "x" * 5_000]


def worded(request: ModelRequest, words: str) -> ModelRequest:
    """The request with other words in the middle of each text that has some."""

    def other(text: str) -> str:
        return f"{text[0]}{words}{text[-1]}" if text.strip() else text

    return replace(
        request,
        system=other(request.system),
        blocks=tuple(map(other, request.blocks)),
        exchange=tuple((other(said), other(asked)) for said, asked in request.exchange),
    )


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession")
@pytest.mark.parametrize(
    ("spec", "package"),
    [
        ("anthropic:claude-sonnet-4-6", "langchain_anthropic"),
        ("google_genai:gemini-2.5-flash", "langchain_google_genai"),
    ],
    ids=["anthropic", "gemini"],
)
def test_rows_are_those_of_the_package(
    spec: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first request of a form is made by the package, the third by a template, in turns: bytes
    do not depend on that, whatever the texts hold, with blank ones and with spaces at ends."""
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    for name in ("ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(name, "key-of-a-provider-0123456789")
    client = client_for(ModelConfig(model=spec, base_url="http://127.0.0.1:9"), keep_prefix=True)
    assert isinstance(client, BatchClient)
    by_template = client.batches()
    for number, form in enumerate(FORMS):
        words = [*WORDS[:2], WORDS[number % 2 + 2]]
        last = [by_template.line("a" * 64, worded(form, one)) for one in words][-1]
        assert last == client.batches().line("a" * 64, worded(form, words[-1]))


def test_a_package_makes_few_bodies() -> None:
    """Of 300 requests of one form it makes three: the first, and the second with a template."""
    n = [0]

    def make(request: ModelRequest) -> SentRequest:
        n[0] += 1
        body = {"of": "made-up", "texts": [request.system + "".join(request.blocks)]}
        return SentRequest(orjson.dumps(body), {"number": str(n[0])})

    templates = RequestTemplates(make)
    for number in range(300):
        request = ModelRequest(f"You are judge {number}.", (f"Text {number}.", "Rate it."))
        assert templates.sent(request).body == make(request).body
    assert n[0] == 303


def test_a_body_that_depends_on_words_has_no_template() -> None:
    """Where a package changes the texts themselves, each body is made by it."""

    def make(request: ModelRequest) -> SentRequest:
        return SentRequest(orjson.dumps([request.system.upper()]), {})

    templates = RequestTemplates(make)
    for number in range(4):
        request = ModelRequest(f"You are judge {number}.", ("Rate it.",))
        assert templates.sent(request).body == make(request).body


def test_options_of_a_request_make_another_form() -> None:
    """A limit, a schema, a beginning of the answer: none is taken over from a request that had
    another."""

    def make(request: ModelRequest) -> SentRequest:
        said = [request.max_tokens, request.prefill, request.schema, request.top_logprobs]
        return SentRequest(orjson.dumps([request.system, said]), {})

    templates = RequestTemplates(make)
    others = [
        ASK,
        replace(ASK, max_tokens=7),
        replace(ASK, prefill="{"),
        replace(ASK, schema=SCHEMA),
        replace(ASK, top_logprobs=5),
    ]
    for request in others * 3:
        assert templates.sent(request).body == make(request).body
