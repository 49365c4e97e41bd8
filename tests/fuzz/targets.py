"""What is fuzzed: for each kind of input a function that takes its bytes, and inputs to begin with.

A target returns where the input is read, or where an error of ours refuses it. Everything else that
it raises is a finding. Its input's first line says which reader is meant.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from pydantic import ValidationError

from persona_panel import (
    PersonaSet,
    load_definition,
    load_framed_responses,
    load_prompts,
    load_ratings,
    load_responses,
)
from persona_panel.experiments.injection_attacks import AttackSet
from persona_panel.experiments.prompt_sets.candidates import load_pairs
from persona_panel.experiments.prompt_sets.spec import load_prompt_set_spec
from persona_panel.experiments.question_asking import load_interventions
from persona_panel.files.errors import PanelError
from persona_panel.files.prompts import load_generation_prompts
from persona_panel.graphs.framing import Framings
from persona_panel.models.client import CallError, not_too_long
from persona_panel.models.config import ModelConfig
from persona_panel.models.http_responses import content_of
from persona_panel.models.langchain import as_reply
from persona_panel.models.providers import client_for
from persona_panel.planning.settings import PanelFile
from persona_panel.results.requirement import WrongRequirement, parse_requirement
from persona_panel.rubrics import (
    CategoryScale,
    Comparison,
    Dimension,
    JudgePrompt,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Question,
    RealScale,
    Rubric,
    Scale,
    elicitation_names,
    load_comparing,
    load_elicitation,
)
from persona_panel.rubrics.replies import Unreadable, value_at, well_formed_json
from persona_panel.rubrics.rubric import ReadingRule
from persona_panel.testing.conformance import _require_on_scale
from tests.contracts.wires import anthropic, google_genai
from tests.fuzz import folders
from tests.fuzz.raw_server import answering
from tests.helpers.langchain_chats import OpenAICompatible

CORPUS = Path(__file__).with_name("corpus")


@dataclass(frozen=True)
class Target:
    """A kind of input.

    Attributes:
        check: reads one, and raises where it does what it should not.
        seeds: inputs to begin with.
    """

    check: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]


TARGETS: dict[str, Target] = {}


def _target(seeds: Callable[[], Iterable[bytes]]) -> Callable[[Callable[[bytes], None]], None]:
    def added(check: Callable[[bytes], None]) -> None:
        TARGETS[check.__name__] = Target(check, seeds)

    return added


def corpus(name: str) -> list[Path]:
    """The inputs that are kept of a target: each was a finding."""
    return sorted((CORPUS / name).glob("*"))


def chosen(options: Iterable[str], line: bytes) -> str:
    """The option that a line names; of another line, any."""
    known = sorted(options)
    said = line.decode(errors="replace").strip()
    return said if said in known else known[sum(line) % len(known)]


def head_and_rest(data: bytes) -> tuple[bytes, bytes]:
    """The first line, and what follows it."""
    head, _, rest = data.partition(b"\n")
    return head, rest


# Replies of models


def _dimension(name: str, scale: Any) -> Dimension:
    return Dimension(
        id=name, label=name.title(), definition="d", guiding_question="Is it?", scale=scale
    )


NUMBERS = Scale(min=1, max=10, low="poor", high="good")
KINDS = CategoryScale(values={"useful": "It helps.", "unhelpful": "Not.", "invalid": "Wrong."})
RUBRICS = {
    "numbers": [_dimension("clarity", NUMBERS), _dimension("depth", NUMBERS)],
    "mixed": [_dimension("clarity", NUMBERS), _dimension("kind", KINDS)],
    "real": [_dimension("clarity", RealScale(kind="real", min=0, max=1, low="no", high="yes"))],
    "one": [_dimension("clarity", NUMBERS)],
}
_SEPARATOR = b"\n----\n"


@cache
def _rubric(name: str) -> Rubric:
    return Rubric(
        id="own",
        label="Own",
        question="How good is it?",
        dimensions=tuple(RUBRICS[name]),
        not_assessable=name == "mixed",
    )


def _played(dialogue: Any, replies: list[ModelResponse]) -> ParsedJudgment:
    """The reading of a dialogue with these replies, the last of which is repeated."""
    next(dialogue)
    place = 0
    try:
        for place in range(100):
            dialogue.send(replies[min(place, len(replies) - 1)])
    except StopIteration as ended:
        found: ParsedJudgment = ended.value
        return found
    raise AssertionError(f"a dialogue of more than {place} calls")


def read_as(elicitation: str, rubric: Rubric, replies: list[ModelResponse], **how: Any) -> None:
    """Read replies by an elicitation, and see that what is scored is on the scale."""
    module = load_elicitation(elicitation)
    if module.serves(rubric) is not None:
        return
    if getattr(module, "COMPARES", False):
        texts = ("One.", "Two.")
        comparison = Comparison(rubric, "Historian", "You ask when.", "Is it?", texts, (None, None))
        found = _played(load_comparing(elicitation).dialogue(comparison), replies)
        assert all(1 <= place <= len(texts) for place in found.scores.values()), found
        return
    question = Question(rubric, "Historian", "You ask when.", "Is it?", "It is.", **how)
    found = _played(module.dialogue(question), replies)
    _require_on_scale(found, module.output_rubric(rubric))
    json.dumps(found.scores, allow_nan=False)
    assert all(0 <= p <= 1 for p in found.off_scale.values()), found


def _reply_seeds() -> list[bytes]:
    said = {
        "dimensions": b'{"clarity": 7, "depth": 3, "abstained": false}',
        "justified": b'<scratchpad>It is.</scratchpad>{"clarity": 7, "kind": "useful"}',
        "holistic": b"7/10",
        "unguided": b"Rating: 0.5",
        "yes_no": b"yes",
        "pairwise": b'{"better": "A"}',
        "ranking": b'{"ranking": ["B", "A"]}',
    }
    return [
        f"{name.replace('_', '-')} {rubric}\n".encode() + text + _SEPARATOR + b'{"clarity": "8/10"}'
        for name, text in said.items()
        for rubric in ("numbers", "mixed", "real")
    ]


@_target(_reply_seeds)
def replies(data: bytes) -> None:
    """One or two replies to an elicitation."""
    head, rest = head_and_rest(data)
    elicitation, _, rubric = head.partition(b" ")
    said = [ModelResponse(text.decode(errors="replace")) for text in rest.split(_SEPARATOR)]
    read_as(chosen(elicitation_names(), elicitation), _rubric(chosen(RUBRICS, rubric)), said)


@_target(lambda: [
    b'$.scores[0]\n{"scores": [10, 3]}', b'$.scores[0]\n{"scores": "10"}',
    b'$.all[1].score\n{"all": [0, {"score": "8/10"}]}', b'$.a\nSo: {"a": 1} {"a": 1,}',
])  # fmt: skip
def paths(data: bytes) -> None:
    """A reply that is read at a path: what JSON has there, by names in objects and numbers in
    lists."""
    head, rest = head_and_rest(data)
    text = rest.decode(errors="replace")
    try:
        rule = ReadingRule(json=head.decode(errors="replace"))
        read = value_at(text, str(rule.json_path))
        document = json.loads(well_formed_json(text))
    except (ValidationError, Unreadable, ValueError, RecursionError):
        return
    if isinstance(document, dict):
        for name, number in re.findall(r"\.([\w-]+)|\[(\d+)\]", str(rule.json_path)):
            assert isinstance(document, dict if name else list), (read, document)
            document = document[name or int(number)]
        assert json.dumps(read) == json.dumps(document)


def _logprob_seeds() -> list[bytes]:
    def position(token: str, **top: float) -> dict[str, Any]:
        tops = [{"token": one, "logprob": p} for one, p in (top or {token: -0.1}).items()]
        return {"token": token, "logprob": -0.1, "top_logprobs": tops}

    tokens = ['{"', "clarity", '":', " ", "7", ',"depth":', "1", "}"]
    content = [position(token) for token in tokens]
    content[4] = position("7", **{"7": -0.5, "8": -1.5, "1": -2.0})
    digits = [position("1", **{"1": -0.3, "2": -2.0, "y": -1.0}), position("0")]
    return [
        b"%s\n%s" % (head, json.dumps({"content": said}).encode())
        for head in (b"at-once one", b"apart mixed", b"yes-no one")
        for said in (content, digits)
    ] + [
        b'apart one\n{"top_candidates": [{"candidates": [{"token": "7", "log_probability": -0.5}]}]'
        b', "chosen_candidates": [{"token": "7", "log_probability": -0.5}]}'
    ]


@_target(_logprob_seeds)
def logprobs(data: bytes) -> None:
    """Log-probabilities of an answer, as a server or LangChain has them."""
    from persona_panel.models.completions import positions_of
    from persona_panel.models.langchain_errors import positions_in

    head, rest = head_and_rest(data)
    how, _, name = head.partition(b" ")
    said = content_of(rest)
    rubric = _rubric(chosen(RUBRICS, name))
    for positions in (positions_of(said), positions_in({"logprobs": said})):
        text = "".join(one.token for one in positions if isinstance(one.token, str))
        reply = ModelResponse(text, logprobs=positions)
        one_call = chosen(("at-once", "apart", "yes-no"), how)
        elicitation = "yes-no" if one_call == "yes-no" else "expected"
        apart = one_call != "at-once"
        read_as(elicitation, rubric, [reply], one_call_per_dimension=apart)


# What comes over the wire


_REQUEST = ModelRequest("You judge.", ("How good?",))


@cache
def _client() -> tuple[asyncio.AbstractEventLoop, OpenAICompatible, Callable[[bytes], None]]:
    url, say = answering()
    return asyncio.new_event_loop(), OpenAICompatible(model="m", base_url=url, timeout_s=5), say


def _asked(answer: bytes) -> None:
    """A call whose server sends these bytes and closes the connection."""
    loop, client, say = _client()
    say(answer)
    try:
        reply = loop.run_until_complete(client.complete(_REQUEST))
    except (CallError, TimeoutError):
        return
    read_as("dimensions", _rubric("numbers"), [reply])
    assert reply.usage.input >= 0 and reply.usage.output >= 0, reply.usage


_COMPLETION = {
    "id": "x",
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": '{"clarity": 7, "depth": 3}'},
            "logprobs": {"content": [{"token": "7", "logprob": -0.1, "top_logprobs": []}]},
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5,
              "prompt_tokens_details": {"cached_tokens": 1}},
}  # fmt: skip
_ERROR = {"error": {"message": "no 'seed' here", "type": "t", "code": "unsupported", "param": "x"}}


def _http(status: str, body: bytes, *headers: bytes) -> bytes:
    lines = [f"HTTP/1.1 {status}".encode(), b"Content-Length: %d" % len(body), *headers, b"", body]
    return b"\r\n".join(lines)


def _wire_seeds() -> list[bytes]:
    whole = json.dumps(_COMPLETION).encode()
    delta = {"choices": [{"delta": {"content": "7"}, "finish_reason": "stop"}]}
    return [
        b"200 application/json\n" + whole,
        b"200 text/event-stream\ndata: " + json.dumps(delta).encode() + b"\n\ndata: [DONE]\n",
        b"400 application/json\n" + json.dumps(_ERROR).encode(),
        b"429 text/html; charset=utf-16\n<html>slow down</html>",
        b'200 application/json\n{"choices": [{"text": "7"}], "usage": null}',
    ]


@_target(_wire_seeds)
def wire(data: bytes) -> None:
    """The body of an answer of a server that speaks chat completions, with status and type."""
    head, body = head_and_rest(data)
    status, _, kind = head.partition(b" ")
    number = int(status) if status.isdigit() and 200 <= int(status[:4]) <= 599 else 200
    kind = bytes(byte for byte in kind[:100] if 32 <= byte < 127)
    _asked(_http(f"{number} Said", body, b"Content-Type: " + kind))


@_target(lambda: [
    _http("200 OK", json.dumps(_COMPLETION).encode(), b"Content-Type: application/json"),
    _http("503 No", b"", b"Retry-After: 1"),
    _http("302 There", b"", b"Location: http://127.0.0.1:1/"),
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" + _http("200 OK", b"{}"),
    b"HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00",
])  # fmt: skip
def http(data: bytes) -> None:
    """All bytes that a server sends on a connection."""
    _asked(data)


def _message_seeds() -> list[bytes]:
    return [
        json.dumps(one).encode()
        for one in (
            {"content": "7", "usage_metadata": {"input_tokens": 3, "output_tokens": 2,
             "total_tokens": 5, "input_token_details": {"cache_read": 1, "cache_creation": 1}},
             "response_metadata": {"finish_reason": "stop", "token_usage": {"prompt_tokens": 3}}},
            {"content": [{"type": "text", "text": "7"}, {"type": "thinking", "thinking": "x"}],
             "response_metadata": {"stop_reason": "end_turn",
                                   "logprobs": {"content": [{"token": "7", "logprob": -1}]}}},
            {"content": "", "tool_calls": [{"name": "judgment", "args": {"clarity": 7}, "id": "1"}],
             "additional_kwargs": {"refusal": "no"},
             "response_metadata": {"prompt_feedback": {"block_reason": "SAFETY"}}},
        )
    ]  # fmt: skip


@_target(_message_seeds)
def messages(data: bytes) -> None:
    """A message as one of LangChain's adapters hands it on."""
    try:
        said = json.loads(data)
        message = AIMessage(**said)
    # What LangChain itself refuses does not reach us.
    except (ValidationError, ValueError, TypeError, AttributeError, RecursionError, LookupError):
        return
    try:
        reply = not_too_long(as_reply(message, 0.0))
    except CallError:
        return
    assert isinstance(reply.text, str)
    reply.text.encode()
    read_as("dimensions", _rubric("numbers"), [reply])


_APIS = {
    "openai": "openai:gpt-4o-mini",
    "anthropic": anthropic.WIRE.spec,
    "google_genai": google_genai.WIRE.spec,
}


@cache
def _batches(name: str) -> Any:
    os.environ.setdefault("FUZZ_KEY", "sk-fuzz-0123456789")
    config = ModelConfig(model=_APIS[name], base_url="http://127.0.0.1:1", key_env="FUZZ_KEY")
    return client_for(config).batches()  # type: ignore[attr-defined]


def _batch_seeds() -> list[bytes]:
    rows: list[tuple[str, Any]] = [
        ("openai", {"id": "b", "custom_id": "x", "error": None,
                    "response": {"status_code": 200, "request_id": "r", "body": _COMPLETION}}),
        ("openai", {"custom_id": "x", "response": {"status_code": 400, "body": _ERROR}}),
        ("openai", {"custom_id": "x", "error": {"code": "batch_expired", "message": "m"}}),
    ]  # fmt: skip
    payload = {"generationConfig": {"responseLogprobs": True}}
    for said in (anthropic.WIRE.judged({}, "7"), *_said_by(anthropic.WIRE, {})):
        kind = "succeeded" if said.status == 200 else "errored"
        body = {"message" if said.status == 200 else "error": said.body}
        rows.append(("anthropic", {"custom_id": "x", "result": {"type": kind, **body}}))
    for said in (google_genai.WIRE.judged(payload, "7"), *_said_by(google_genai.WIRE, payload)):
        rows.append(("google_genai", {"key": "x", "response": said.body}))
    return [f"{name}\n".encode() + json.dumps(row).encode() for name, row in rows]


def _said_by(wire: Any, payload: Any) -> Iterable[Any]:
    return [said(payload) for said in wire.other.values()]


@_target(_batch_seeds)
def batches(data: bytes) -> None:
    """A row of a batch's results, also as LangChain's chat models read its answer."""
    head, rest = head_and_rest(data)
    for line in rest.split(b"\n"):
        found = _batches(chosen(_APIS, head)).read(line)
        if found is not None and isinstance(found.answer, ModelResponse):
            assert isinstance(found.answer.text, str)
            found.answer.text.encode()
            read_as("dimensions", _rubric("numbers"), [found.answer])


# Files


_TABLES: dict[str, Callable[[Path], Any]] = {
    "responses": load_responses,
    "prompts": load_prompts,
    "framed": load_framed_responses,
    "ratings": load_ratings,
    "generation": load_generation_prompts,
    "interventions": load_interventions,
    "pairs": load_pairs,
}
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".csv.gz", ".jsonl.gz")


def _table_seeds() -> list[bytes]:
    import gzip
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = folders.RESPONSES[:2]
    ratings = folders.FILES["humans.csv"].encode()
    parquet = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), parquet)
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return [
        b"responses .jsonl\n" + lines,
        b"responses .json\n" + json.dumps(rows).encode(),
        b'responses .csv\nid,prompt,response,system\nr1,"a, ""b""",t,s\n',
        b"responses .parquet\n" + parquet.getvalue(),
        b"responses .jsonl.gz\n" + gzip.compress(lines),
        b"ratings .csv\n" + ratings,
        b"ratings .tsv\n" + ratings.replace(b",", b"\t"),
        b"ratings .csv.gz\n" + gzip.compress(ratings),
        b'ratings .jsonl\n{"item": "i", "rater": "r", "label": "good"}\n',
        b'prompts .jsonl\n{"prompt": "Is it?", "prompt_id": "p"}\n',
        b'framed .jsonl\n{"prompt": "p", "response": "r", "system": "s", "condition": "baseline"}',
        b'generation .jsonl\n{"prompt": "Is it?", "context": "c"}\n',
        b'interventions .jsonl\n{"id": "i", "intervention": "It is so."}\n',
        b'pairs .jsonl\n{"id": "1", "prompt": "a", "other": "b"}\n',
    ]


@_target(_table_seeds)
def tables(data: bytes) -> None:
    """A file of responses, prompts or ratings."""
    head, rest = head_and_rest(data)
    what, _, suffix = head.partition(b" ")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file" + chosen(_SUFFIXES, suffix))
        path.write_bytes(rest)
        try:
            found = _TABLES[chosen(_TABLES, what)](path)
            # Responses are read when they are come to.
            list(found if isinstance(found, Iterable) else ())
        except PanelError as error:
            str(error).encode()


_DEFINITIONS: dict[str, Callable[[Path], Any]] = {
    "rubric": lambda path: load_definition(path, Rubric),
    "personas": lambda path: load_definition(path, PersonaSet),
    "panel": lambda path: load_definition(path, PanelFile),
    "framings": lambda path: load_definition(path, Framings),
    "attacks": lambda path: load_definition(path, AttackSet),
    "prompts": load_prompt_set_spec,
    "template": lambda path: load_definition(path, JudgePrompt),
}


def _definition_seeds() -> list[bytes]:
    from persona_panel import personas, rubrics
    from persona_panel.experiments.injection_attacks import shipped_attacks
    from persona_panel.experiments.sweep.plan import shipped_framings

    def head(path: Path, lines: int = 60) -> bytes:
        return b"\n".join(path.read_bytes().splitlines()[:lines])

    return [
        b"rubric\n" + folders.FILES["rubric.yaml"].encode(),
        *(b"rubric\n" + head(path) for path in list(rubrics.shipped().values())[:3]),
        b"personas\n" + folders.FILES["personas.yaml"].encode(),
        b"personas\n" + head(next(iter(personas.shipped().values())), 20),
        b"panel\nmodels: [{model: 'openai:m', price: {input: 1, output: 2}}]\nreplicates: 2\n"
        b"deliberation: {rounds: 2}\npersonas: perspectives\nrubric: scrub\n",
        b"framings\n" + head(next(iter(shipped_framings().values()))),
        b"attacks\n" + head(shipped_attacks()),
        b"template\nprompt: '{text}'\nread: {regex: '(a)'}\nexample: a\n"
        b"scale: {min: 1, max: 5, low: l, high: h}\n",
        b"rubric\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n<<: {d: 1}\n",
    ]


@_target(_definition_seeds)
def definitions(data: bytes) -> None:
    """A YAML file: a rubric, a persona set, a panel, framings, attacks, a set of prompts."""
    head, rest = head_and_rest(data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.yaml")
        path.write_bytes(rest)
        try:
            found = _DEFINITIONS[chosen(_DEFINITIONS, head)](path)
        except PanelError as error:
            str(error).encode()
            return
    if isinstance(found, Rubric):
        for name in elicitation_names():
            module = load_elicitation(name)
            if module.serves(found) is None and not getattr(module, "COMPARES", False):
                next(module.dialogue(Question(found, "H", "You ask.", "Is it?", "It is.")))


def _folder_seeds() -> list[bytes]:
    return [
        f"{command} {file}\n".encode() + (folders.originals() / file).read_bytes()
        for number, file in enumerate(folders.changeable())
        for command in sorted(folders.COMMANDS)[number % 3 :: 3]
    ]


@_target(_folder_seeds)
def commands(data: bytes) -> None:
    """A file of a run's folder, or that a command is given, read by that command."""
    head, rest = head_and_rest(data)
    name, _, file = head.partition(b" ")
    folders.invoke(chosen(folders.COMMANDS, name), chosen(folders.changeable(), file), rest)


@_target(lambda: [
    b"composite[my-model] >= 6", b"tau_b > -0.2", b'difference["new, later", old] <= 1e-3',
    b"verdict == 'better'", b"fidelity[left-annotator, 'it''s'] < .5", b"a != 3",
])  # fmt: skip
def requirements(data: bytes) -> None:
    """An expression of `--require`, which in the form that it is shown in means the same."""
    try:
        found = parse_requirement(data.decode(errors="replace"))
    except WrongRequirement:
        return
    again = parse_requirement(str(found))
    assert (again.name, again.keys, again.word) == (found.name, found.keys, found.word), found
    found.holds_for(0.5)
