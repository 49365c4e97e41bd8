"""Definitions come in as their model, or not at all and with every fault on its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from persona_panel.files.definitions import load_definition, resolve
from persona_panel.files.errors import Fault, InputError
from persona_panel.personas.persona import Persona, PersonaSet

Write = Callable[[str | bytes], Path]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Local(Strict):
    kind: Literal["local"] = "local"
    path: str


class Remote(Strict):
    kind: Literal["remote"]
    url: str = Field(max_length=20)
    api_key: str = Field(default="", max_length=5)
    max_tokens: int = Field(default=1, ge=1)


class Setup(Strict):
    """Has one field of each type that a definition of ours may have."""

    name: str = "setup"
    count: int = Field(default=1, gt=0, le=9)
    share: float = Field(default=0.5, ge=0, lt=1)
    strict: bool = True
    mode: Literal["fast", "thorough"] = "fast"
    tags: list[str] = Field(default=[], max_length=2)
    judge: str | Local | None = None
    models: tuple[Annotated[Local | Remote, Field(discriminator="kind")], ...] = ()
    named: dict[str, Local] = {}
    aliased: int = Field(default=0, alias="short-name")


class Span(Strict):
    low: int
    high: int

    @model_validator(mode="after")
    def _rises(self) -> Span:
        if self.low > self.high:
            raise ValueError(f"low is {self.low}, above high; low below high")
        return self


class Judged(Strict):
    """Has validators of its own, one of which says no more than what is wrong."""

    span: Span
    name: str = "fancy"

    @field_validator("name")
    @classmethod
    def _is_fancy(cls, name: str) -> str:
        if name != "fancy":
            raise ValueError("too plain")
        return name


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: str | bytes) -> Path:
        path = tmp_path / "in.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def faults_of(path: Path, model: type[BaseModel] = Setup) -> tuple[Fault, ...]:
    with pytest.raises(InputError) as caught:
        load_definition(path, model)
    return caught.value.faults


def fault_of(path: Path, model: type[BaseModel] = Setup) -> Fault:
    (fault,) = faults_of(path, model)
    return fault


# What was written is read back.

_ids = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,63}", fullmatch=True)
_texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=64)


@settings(deadline=None)
@given(
    st.builds(
        PersonaSet,
        id=_ids,
        label=_texts,
        personas=st.lists(
            st.builds(Persona, id=_ids, label=_texts, axis=_texts, description=_texts),
            min_size=1,
            max_size=4,
            unique_by=lambda persona: persona.id,
        ).map(tuple),
    )
)
def test_a_definition_is_read_back(persona_set: PersonaSet) -> None:
    """Any persona set, dumped as YAML, is read back equal."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "in.yaml")
        data = persona_set.model_dump(mode="json")
        path.write_text(yaml.safe_dump(data))
        assert load_definition(path, PersonaSet) == persona_set


def test_anchors_and_merges_are_read(write: Write) -> None:
    """A part written once may be used again."""
    path = write("named:\n  a: &a {path: x}\n  b: *a\n  c: {<<: *a, path: y}\n")
    named = load_definition(path, Setup).named
    assert {name: local.path for name, local in named.items()} == {"a": "x", "b": "x", "c": "y"}


def test_a_bom_is_accepted(write: Write) -> None:
    """A byte order mark before UTF-8 is no part of the text."""
    assert load_definition(write(b"\xef\xbb\xbfname: x\n"), Setup).name == "x"


# What cannot be used is refused.


def test_all_faults_are_reported_together(write: Write) -> None:
    """One reading finds every fault, each with its line and dotted path, in order."""
    path = write(
        "id: Big\n"
        "label: ''\n"
        "personas:\n"
        "  - {id: a, label: A, axis: x, description: d}\n"
        "  - id: b\n"
        "    label: no\n"
        "    axes: x\n"
        "    description: d\n"
        "    description: e\n"
    )
    assert [(fault.line, fault.field) for fault in faults_of(path, PersonaSet)] == [
        (1, "id"),
        (2, "label"),
        (5, "personas.1.axis"),
        (6, "personas.1.label"),
        (7, "personas.1.axes"),
        (9, "personas.1.description"),
    ]
    assert {fault.file for fault in faults_of(path, PersonaSet)} == {str(path)}


def test_a_missing_file(tmp_path: Path) -> None:
    """A path at which nothing is says so."""
    assert fault_of(tmp_path / "no.yaml").actual == "no such file"


def test_a_directory(tmp_path: Path) -> None:
    """A directory is no definition."""
    assert fault_of(tmp_path).actual == "a directory"


@pytest.mark.parametrize("content", ["", "\n\n", "# nothing yet\n"])
def test_an_empty_file(write: Write, content: str) -> None:
    """A file that says nothing is empty, comments or not."""
    assert fault_of(write(content)).actual == "an empty file"


@pytest.mark.parametrize(
    ("content", "found"), [("\n- a\n", "a list"), ("\nhello\n", "a single value")]
)
def test_no_mapping_at_the_top(write: Write, content: str, found: str) -> None:
    """A definition is a mapping."""
    path = write(content)
    assert fault_of(path) == Fault(str(path), found, "a mapping, key: value", line=2)


def test_wrong_encoding_is_located(write: Write) -> None:
    """Bytes that are not UTF-8 are named with line and offset."""
    path = write(b"count: 1\nname: caf\xe9\n")
    assert fault_of(path) == Fault(str(path), "the byte 0xe9 at offset 18", "UTF-8 text", line=2)


@pytest.mark.parametrize(
    ("content", "line", "part"),
    [
        ("name: x\ntags: [a\ncount: 1\n", 3, "begun on line 2"),
        ("name: a: b\n", 1, "mapping values are not allowed here"),
        ("name: x\n\tcount: 1\n", 2, "cannot start any token"),
        ("name: 'x\n", 2, "begun on line 1"),
        ("name: x\n---\nname: y\n", 2, "another document"),
        ("name: *x\n", 1, "undefined alias"),
        ("? [a]\n: b\n", 1, "unhashable key"),
        ("name: !!python/object:os.system {}\n", 1, "could not determine a constructor"),
    ],
)
def test_a_syntax_error(write: Write, content: str, line: int, part: str) -> None:
    """What is no YAML, or YAML that would run code, is refused on its line."""
    fault = fault_of(write(content))
    assert (fault.line, fault.expected) == (line, "YAML")
    assert part in fault.actual


@pytest.mark.parametrize("value", ["2024-13-45", "!!bool maybe", "!!int ''", r'"\ud800"'])
def test_a_value_that_yaml_cannot_hold(write: Write, value: str) -> None:
    """A date in month 13, say, is a fault of its line and no traceback."""
    fault = fault_of(write(f"count: 1\nname: {value}\n"))
    assert (fault.line, fault.expected) == (2, "YAML")


def test_a_control_character(write: Write) -> None:
    """Characters that YAML forbids are named by their line."""
    fault = fault_of(write("name: x\ntags: [\x07]\n"))
    assert (fault.line, fault.actual) == (2, r"the character '\x07'")


def test_a_repeated_key(write: Write) -> None:
    """A key twice in one mapping is refused, for YAML would keep the last silently."""
    path = write("named:\n  a: {path: x}\n  b: {path: y}\n  a: {path: z}\n")
    assert fault_of(path) == Fault(
        str(path), "the key again, first on line 2", "each key once", line=4, field="named.a"
    )


def test_aliases_that_multiply(write: Write) -> None:
    """A few lines of aliases that stand for billions of values are refused before they expand."""
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    fault = fault_of(write("\n".join(["a0: &a0 [x]", *levels])))
    assert fault.actual == "more than 50,000 values, aliases written out"


@pytest.mark.parametrize("content", ["name: &a [*a]\n", "name: " + "[" * 5_000])
def test_endless_nesting(write: Write, content: str) -> None:
    """A value inside itself, or inside thousands of others, is refused."""
    assert fault_of(write(content)).actual == "more than 50 levels of nesting"


def test_a_file_that_is_too_large(write: Write) -> None:
    """A file of more than a megabyte is no definition."""
    assert fault_of(write("#" * 1_000_001)).actual == "a file of 1,000,001 bytes"


def test_a_missing_key(write: Write) -> None:
    """A key that is missing is named on the line of the mapping that lacks it."""
    path = write("name: x\nnamed:\n  a:\n    kind: local\n")
    assert fault_of(path) == Fault(str(path), "nothing", "a value", line=3, field="named.a.path")


def test_an_unknown_key_has_a_suggestion(write: Write) -> None:
    """An unknown key is refused with the known ones and the nearest of them."""
    fault = fault_of(
        write(
            "id: x\nlabel: y\npersona: []\npersonas: [{id: a, label: b, axis: c, description: d}]"
        ),
        PersonaSet,
    )
    assert (fault.line, fault.field, fault.actual) == (3, "persona", "an unknown key")
    assert (
        fault.expected == "one of the keys id, label, language, personas (did you mean 'personas'?)"
    )


@pytest.mark.parametrize(
    ("content", "keys"),
    [
        ("named: {a: {path: x, pat: y}}", "kind, path"),
        ("judge: {path: x, pat: y}", "kind, path"),
        ("models: [{kind: local, path: x, pat: y}]", "kind, path"),
        ("models: [{kind: remote, url: x, pat: y}]", "api_key, kind, max_tokens, url"),
    ],
)
def test_an_unknown_key_inside(write: Write, content: str, keys: str) -> None:
    """The known keys are those of the place: in a mapping, a list, a union or a tagged one."""
    expected = fault_of(write(content)).expected
    assert expected.startswith(f"one of the keys {keys}")


def test_a_key_known_by_its_alias(write: Write) -> None:
    """Where a key is written otherwise than its field, the written form is suggested."""
    assert "(did you mean 'short-name'?)" in fault_of(write("short_name: 1\n")).expected


@pytest.mark.parametrize(
    ("content", "found", "expected"),
    [
        ("name: [x]", "a list", "text"),
        ("name: null", "null", "text"),
        ("name: no", "false", "text, in quotes where it looks like something else"),
        ("name: 2024-01-02", "2024-01-02", "text, in quotes where it looks like something else"),
        ("count: many", "'many'", "a whole number"),
        ("count: 1.5", "1.5", "a whole number"),
        ("count: {}", "a mapping", "a whole number"),
        ("count: 0", "0", "a number larger than 0"),
        ("count: 10", "10", "a number of 9 or less"),
        ("share: half", "'half'", "a number"),
        ("share: -1", "-1", "a number of 0.0 or more"),
        ("share: 1", "1", "a number smaller than 1.0"),
        ("strict: perhaps", "'perhaps'", "true or false"),
        ("mode: slow", "'slow'", "'fast' or 'thorough'"),
        ("tags: x", "'x'", "a list"),
        ("tags: [a, b, c]", "3 items", "at most 2"),
        ("named: [x]", "a list", "a mapping, key: value"),
        ("models: x", "'x'", "a list"),
        ("judge: [x]", "a list", "text, or a mapping, key: value"),
        (
            "models: [{kind: remote, url: a-very-long-web-address}]",
            "'a-very-long-web-address'",
            "text of at most 20 characters",
        ),
        ("models: [{kind: other}]", "'other'", "'kind' to be one of 'local', 'remote'"),
        ("models: [{path: x}]", "a mapping", "the key 'kind', which says what it is"),
        ("name: '" + "x" * 100 + "'\ncount: ''", "''", "a whole number"),
        ("mode: '" + "x" * 100 + "'", f"'{'x' * 60}…'", "'fast' or 'thorough'"),
    ],
)
def test_the_wording(write: Write, content: str, found: str, expected: str) -> None:
    """What pydantic finds is said in plain words, one fault a value."""
    fault = fault_of(write(content))
    assert (fault.actual, fault.expected) == (found, expected)


@pytest.mark.parametrize("key", ["5", "yes"])
def test_a_key_that_is_no_text(write: Write, key: str) -> None:
    """A key that YAML reads as a number or a truth value is refused on its line."""
    fault = fault_of(write(f"{key}: x\n"))
    assert (fault.line, fault.expected) == (1, "a key that is text")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("span: {low: 3, high: 1}", ("span", "low is 3, above high", "low below high")),
        ("span: {low: 1, high: 3}\nname: x", ("name", "too plain", "a value without this fault")),
    ],
)
def test_a_validators_own_words(write: Write, content: str, fault: tuple[str, str, str]) -> None:
    """A model's validator says what is wrong and, after a semicolon, what would be right."""
    got = fault_of(write(content), Judged)
    assert (got.field, got.actual, got.expected) == fault


def test_a_list_is_not_called_short_for_its_faults(write: Write) -> None:
    """A tuple whose only item is faulty has that fault and no other."""
    fault = fault_of(write("id: x\nlabel: y\npersonas: [{id: a, label: b, axis: c}]"), PersonaSet)
    assert fault.field == "personas.0.description"


def test_a_list_that_is_too_short(write: Write) -> None:
    """A list that needs an item says how many it has."""
    fault = fault_of(write("id: x\nlabel: y\npersonas: []"), PersonaSet)
    assert (fault.actual, fault.expected) == ("0 items", "1 or more")


def test_a_fault_inside_a_union_is_said_once(write: Write) -> None:
    """Where text or a mapping may stand, a faulty mapping is not also called no text."""
    fault = fault_of(write("judge: {kind: local}"))
    assert fault.field == "judge.path"


@pytest.mark.parametrize("value", ["sk-verysecret", "[sk-verysecret]", "{x: sk-verysecret}"])
def test_a_secret_is_not_shown(write: Write, value: str) -> None:
    """The value of a field with a secret's name is in no part of an error."""
    faults = faults_of(
        write(
            f"models: [{{kind: remote, url: x, api_key: {value}}}]\n"
            f"named: {{my_token: {value}}}\n"
            f"password: {value}\n"
        )
    )
    assert {fault.line for fault in faults} == {1, 2, 3}
    assert "verysecret" not in "".join(map(str, faults))


def test_a_number_of_tokens_is_shown(write: Write) -> None:
    """A limit on tokens is no secret."""
    assert fault_of(write("models: [{kind: remote, url: x, max_tokens: 0}]")).actual == "0"


def test_a_name_is_safe_to_print(write: Write) -> None:
    """A key that a terminal would obey is shown escaped."""
    assert str(fault_of(write(r'"\e[2J": 1'))).isprintable()


# Finding a definition.


@pytest.fixture
def shipped(tmp_path: Path) -> dict[str, Path]:
    return {name: tmp_path / f"{name}.yaml" for name in ("scrub", "speeches")}


def test_a_name_is_resolved(shipped: dict[str, Path]) -> None:
    """A name of the library is its file."""
    assert resolve("scrub", shipped, "rubric") == shipped["scrub"]


@pytest.mark.parametrize("suffix", [".yaml", ".yml"])
def test_a_path_is_resolved(tmp_path: Path, shipped: dict[str, Path], suffix: str) -> None:
    """The path of an existing YAML file is itself."""
    path = tmp_path / f"mine{suffix}"
    path.touch()
    assert resolve(str(path), shipped, "rubric") == path


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("scrubb", "no rubric of this name"),
        ("missing.yaml", "no such file"),
        ("folder.yaml", "a directory"),
        ("mine.json", "a file that ends in '.json'"),
    ],
)
def test_what_cannot_be_resolved(
    tmp_path: Path,
    shipped: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    found: str,
) -> None:
    """Anything else is refused with the names there are."""
    monkeypatch.chdir(tmp_path)
    Path("folder.yaml").mkdir()
    Path("mine.json").touch()
    with pytest.raises(InputError) as caught:
        resolve(name, shipped, "rubric")
    (fault,) = caught.value.faults
    assert (fault.file, fault.field, fault.actual) == (name, "rubric", found)
    assert fault.expected.startswith("one of scrub, speeches")


def test_a_misspelt_name_has_a_suggestion(shipped: dict[str, Path]) -> None:
    """The nearest name of the library is suggested."""
    with pytest.raises(InputError, match=r"did you mean 'speeches'\?"):
        resolve("speechs", shipped, "rubric")
