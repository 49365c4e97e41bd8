"""The results of `persona-panel models`: which models can be used here, and those of servers on
this machine, at the usual ports of Ollama, llama.cpp, vLLM and LM Studio.

Only 127.0.0.1 is asked, without a key and past any proxy, and no redirect is followed. Whatever
listens there, an answer takes `TIMEOUT_S` and `_MOST_BYTES` at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple

from persona_panel.files.wording import command_line
from persona_panel.models.availability import (
    OLD,
    Availability,
    PriceDifference,
    age_of_table,
    differences,
    litellm_table,
    retired,
)
from persona_panel.models.config import known_models, prices_as_of
from persona_panel.models.embedded_weights import NOTICE
from persona_panel.models.http_responses import Headers, content_of
from persona_panel.models.providers import load_provider, provider_names
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.statistics.core.display import counted

_WIDEST = 56
"""The most characters of what is missing that stand in the table; a longer text is below it."""


def availability_result(today: date) -> Result:
    """Return which models can be used here and what the others need, the usable ones first, and how
    old the table of prices is on a day. Nothing is called."""
    rows = sorted((row for name in provider_names() for row in _rows(name)), key=_is_unusable)
    providers = Table(
        "models",
        (Key("state", "state"), Key("model", "model")),
        (Column("shown", "text", "found, or missing"), Column("detail", "text")),
        rows,
        "Models",
        short={"installed": (True,)},
    )
    conclusion, tables = [_counted(rows)], [providers]
    known, as_of = len(known_models()), prices_as_of()
    conclusion.append(f"Prices and context windows of {known} models are as of {as_of}.")
    if (age := age_of_table(today)) > OLD:
        conclusion.append(
            f"They are {age.days} days old: check them before you rely on a cost in dollars."
        )
    if gone := retired(today):
        conclusion.append(f"Taken off by their providers since: {', '.join(gone)}.")
    more = []
    published = litellm_table()
    if published is None:
        more.append("With litellm installed, they are compared with the table it ships.")
    elif differing := differences(published):
        source = f"the table of LiteLLM {published.version}"
        conclusion.append(
            f"{counted(len(differing), 'value')} differ from {source}; a panel file can set them."
        )
        tables.append(_differing(differing, source))
    else:
        more.append(f"They agree with the table of LiteLLM {published.version}.")
    return Result(
        "models",
        conclusion,
        tables,
        remarks_in_full=[
            NOTICE,
            "openai: also calls any OpenAI-compatible server: openai:NAME@ADDRESS, base_url in a "
            "panel file, or OPENAI_BASE_URL.",
            *more,
            *(f"{row['model']}: {row['detail']}" for row in rows if len(row["detail"]) > _WIDEST),
        ],
        next_step="List the servers on this machine: persona-panel models --local",
    )


def _is_unusable(row: dict[str, Any]) -> bool:
    return not row["usable"]


def _counted(rows: list[dict[str, Any]]) -> str:
    lacking = sum(not row["installed"] for row in rows)
    others = f"; {lacking} need a package" if lacking else ""
    return f"Usable here: {sum(row['usable'] for row in rows)} of {len(rows)}{others}."


def _differing(differing: list[PriceDifference], source: str) -> Table:
    return Table(
        "prices",
        (Key("entry", "entry"),),
        (Column("listed", "text", "here"), Column("published", "text", source)),
        [
            {
                "entry": f"{entry.model} {entry.what}",
                "listed": _written(entry.listed), "published": _written(entry.published),
            }
            for entry in differing
        ],
        "Prices that differ",
        when="full",
    )  # fmt: skip


def _written(value: float | str | None) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:,}"


def _rows(name: str) -> Iterator[dict[str, Any]]:
    installed = False
    try:
        provider = load_provider(name)
        lines = provider.availability()
        installed = all(map(_is_installed, provider.packages))
    # Another distribution's provider that does not work hides no other.
    except Exception as error:
        lines = [Availability(f"{name}:NAME", False, str(error))]
    for line in lines:
        is_long = len(line.detail) > _WIDEST
        yield line._asdict() | {
            "state": "usable here" if line.usable else "not usable yet",
            "installed": line.usable or installed,
            "shown": f"{line.detail[: _WIDEST - 1]}…" if is_long else line.detail,
        }


def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True


TIMEOUT_S = 2.0
"""The seconds that a look at one address takes at most, its answer included."""
_MOST_BYTES = 1_000_000
_LONGEST_NAME = 500
_SUCCESS, _REDIRECT, _ERROR = 200, 300, 400
_WANTS_A_KEY = (401, 403)


class ServerProgram(NamedTuple):
    """A program that serves models: its name, its usual port, and a command that starts it."""

    name: str
    port: int
    start: str

    @property
    def address(self) -> str:
        """Return its address, as `base_url` has it."""
        return f"http://127.0.0.1:{self.port}/v1"


_LLAMA_CPP = "llama.cpp"
PROGRAMS = (
    ServerProgram("Ollama", 11434, "ollama serve"),
    ServerProgram(_LLAMA_CPP, 8080, "llama-server -m FILE.gguf"),
    ServerProgram("vLLM", 8000, "vllm serve NAME"),
    ServerProgram("LM Studio", 1234, "lms server start"),
)
_OWNERS = {
    "library": "Ollama",
    "llamacpp": _LLAMA_CPP,
    "vllm": "vLLM",
    "organization_owner": "LM Studio",
}
"""The name of the program that says of its models that they are owned by this."""


class LocalServer(NamedTuple):
    """A program that listens at an address.

    Attributes:
        name: of the program, by what it says of its models, else by the port.
        address: as `base_url` has it.
        models: their names, in the server's order.
        problem: why it lists none; empty where it lists some.
        slots: how many calls a llama.cpp server answers at a time; None where that is not said.
    """

    name: str
    address: str
    models: tuple[str, ...] = ()
    problem: str = ""
    slots: int | None = None


def local_servers(
    programs: Sequence[ServerProgram] = PROGRAMS, timeout_s: float = TIMEOUT_S
) -> list[LocalServer]:
    """Return what listens at the ports of these programs, in their order; all are asked at once.
    Nothing that is there raises: what is no server of models has a `problem`."""
    if not programs:
        return []
    with ThreadPoolExecutor(len(programs)) as threads:
        servers = threads.map(lambda program: _server_at(program, timeout_s), programs)
        return [server for server in servers if server is not None]


def _server_at(program: ServerProgram, timeout_s: float) -> LocalServer | None:
    """Return what listens at the port of a program; None where nothing does."""
    answer = _asked(f"{program.address}/models", timeout_s)
    if answer is None:
        return None
    if isinstance(answer, str):
        return LocalServer(program.name, program.address, problem=answer)
    server = _read(program, *answer)
    if server.name != _LLAMA_CPP or not server.models:
        return server
    properties = _asked(f"{program.address.removesuffix('/v1')}/props", timeout_s)
    match properties:
        case (int(), {"total_slots": int(slots)}) if slots > 0:
            return server._replace(slots=slots)
    return server


def _asked(url: str, timeout_s: float) -> tuple[int, Any] | str | None:
    """Return the status and the content of what a GET answers; what is wrong where that is no whole
    answer, None where nothing listens."""
    import pycurl

    heads, body = bytearray(), bytearray()

    def take(data: bytes) -> int | None:
        body.extend(data)
        return None if len(body) <= _MOST_BYTES else 0

    def take_head(data: bytes) -> int | None:
        heads.extend(data)
        return None if len(heads) <= _MOST_BYTES else 0

    curl = pycurl.Curl()
    for option, value in {
        pycurl.URL: url,
        pycurl.PROXY: "",
        pycurl.NOSIGNAL: True,
        pycurl.USERAGENT: "persona-panel",
        pycurl.TIMEOUT_MS: max(1, round(1000 * timeout_s)),
        pycurl.WRITEFUNCTION: take,
        pycurl.HEADERFUNCTION: take_head,
    }.items():
        curl.setopt(option, value)
    try:
        curl.perform()
        status = curl.getinfo(pycurl.RESPONSE_CODE)
    except pycurl.error as error:
        code = error.args[0]
        if code == pycurl.E_COULDNT_CONNECT:
            return None
        return _fault(code, len(body), timeout_s)
    finally:
        curl.close()
    return status, content_of(bytes(body), Headers(bytes(heads)))


def _fault(code: int, n_bytes: int, timeout_s: float) -> str:
    import pycurl

    if code == pycurl.E_OPERATION_TIMEDOUT:
        return f"no whole answer within {timeout_s:g} s"
    if n_bytes > _MOST_BYTES:
        return f"an answer of more than {_MOST_BYTES / 1e6:g} MB"
    return "no answer over HTTP"


def _read(program: ServerProgram, status: int, content: Any) -> LocalServer:
    """Return the server that gave this answer to a request for its models."""

    def without_models(problem: str) -> LocalServer:
        return LocalServer(program.name, program.address, problem=problem)

    if status in _WANTS_A_KEY:
        return without_models(f"HTTP {status}: it wants a key; see key_env of a panel file")
    if _REDIRECT <= status < _ERROR:
        return without_models(f"HTTP {status}: a redirect, which is not followed")
    if status != _SUCCESS or not isinstance(content, dict) or "data" not in content:
        return without_models(f"HTTP {status}, and no list of models")
    # Ollama without a model says null.
    listed = content["data"] if isinstance(content["data"], list) else []
    entries = [each for each in listed if isinstance(each, dict) and _is_name(each.get("id"))]
    if not entries:
        return without_models("it has no model yet")
    owners = [each.get("owned_by") for each in entries]
    name = next((_OWNERS[o] for o in owners if isinstance(o, str) and o in _OWNERS), program.name)
    names = dict.fromkeys(each["id"] for each in entries)
    return LocalServer(name, program.address, tuple(names))


def _is_name(name: Any) -> bool:
    is_plain = isinstance(name, str) and name.isprintable() and name == name.strip()
    return is_plain and 0 < len(name) <= _LONGEST_NAME


def local_servers_result(
    servers: Sequence[LocalServer], programs: Sequence[ServerProgram] = PROGRAMS
) -> Result:
    """Return which servers answer, and what `--model` takes for each of their models; where there
    is none, how to start one."""
    models = Table(
        "models",
        (Key("argument", "--model"),),
        (
            Column("server", "text", "server"), Column("slots", "whole", "slots"),
            Column("address", "text"), Column("model", "text"),
        ),
        [
            {
                "argument": model_argument(server, model),
                "server": server.name, "slots": server.slots,
                "address": server.address, "model": model,
            }
            for server in servers
            for model in server.models
        ],
        "Models of servers on this machine",
    )  # fmt: skip
    addresses = Table(
        "addresses",
        (Key("address", "address"),),
        (Column("program", "text", "usual for"), Column("start", "text", "started by")),
        [{"address": each.address, "program": each.name, "start": each.start} for each in programs],
        "Addresses that were asked",
        when="full" if models.rows else "always",
    )
    others = [f"{each.address} ({each.name}?): {each.problem}." for each in servers if each.problem]
    n = sum(bool(server.models) for server in servers)
    of = f" of {counted(n, 'server')}" if n else ""
    return Result(
        "local models",
        [f"{counted(len(models.rows), 'model')}{of} on this machine." if n
         else "No server of models answers at the usual addresses of this machine.", *others],
        [models, addresses],
        next_step="" if n else "Start one, then: persona-panel models --local",
    )  # fmt: skip


def model_argument(server: LocalServer, model: str) -> str:
    """Return what `--model` takes for a model of a server.

    >>> model_argument(LocalServer("Ollama", "http://127.0.0.1:11434/v1"), "llama3.2:3b")
    'openai:llama3.2:3b@http://127.0.0.1:11434/v1'
    """
    return f"openai:{model}@{server.address}"


def score_command(servers: Sequence[LocalServer]) -> str | None:
    """Return the command that scores responses by the first model that is, by its name, none for
    embeddings, with as many calls in flight as its server has slots; None where there is none."""
    for server in servers:
        for model in server.models:
            if "embed" not in model.lower():
                options: dict[str, str | int | Path] = {"--model": model_argument(server, model)}
                if server.slots is not None:
                    options["--concurrency"] = server.slots
                return command_line("score", ["RESPONSES"], options)
    return None
