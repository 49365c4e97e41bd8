"""Definitions in: rubrics, persona sets and whatever else is a pydantic model in YAML.

A file is refused with everything that is wrong with it, each fault on its line and in
words that need no knowledge of pydantic (`persona_panel.files.wording`). What a definition may
hold is said by its model; which definitions are shipped is said by the libraries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from yaml.constructor import ConstructorError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from persona_panel.files.errors import Fault, InputError
from persona_panel.files.limits import content_of
from persona_panel.files.wording import did_you_mean, explain, printable, undecodable, unreadable

M = TypeVar("M", bound=BaseModel)

_SUFFIXES = (".yaml", ".yml")
_MOST_BYTES = 1_000_000
# Aliases make a short file long ("billion laughs") or endless. No definition comes near
# these two, counted with every alias written out.
_MOST_PLACES = 50_000
_DEEPEST = 50

_Place = tuple[Any, ...]
"""The keys and indices that lead to a value: `("dimensions", 0, "scale")`."""


def load_definition(source: Path, model: type[M]) -> M:
    """Read a YAML file as a `model`.

    Keys that the model does not know are refused where it says `extra="forbid"`.

    Raises:
        InputError: the file cannot be read or is no such definition; lists every fault.
    """
    document = _parse(source, _text(source))
    faults = list(document.repeated)
    try:
        definition = model.model_validate(document.data)
    except ValidationError as error:
        faults += _model_faults(error, model, document)
    else:
        if not faults:
            return definition
    raise InputError(sorted(faults, key=lambda fault: fault.line or 0))


def resolve(name_or_path: str, shipped: Mapping[str, Path], what: str) -> Path:
    """Find a definition: one that is shipped, by its name, or a YAML file, by its path.

    `what` says in an error what was looked for: a rubric, a persona set. Raises InputError: it is
    neither; names the shipped ones and the nearest of them."""
    if name_or_path in shipped:
        return shipped[name_or_path]
    path = Path(name_or_path)
    if path.suffix in _SUFFIXES:
        if path.is_file():
            return path
        problem = unreadable(path)
    elif path.is_file():
        problem = f"a file that ends in {path.suffix!r}"
    else:
        problem = f"no {what} of this name"
    expected = (
        f"one of {', '.join(sorted(shipped))}{did_you_mean(name_or_path, shipped)}, "
        "or the path of a .yaml file"
    )
    raise InputError([Fault(file=name_or_path, field=what, actual=problem, expected=expected)])


# From a file to plain data that remembers its lines.


@dataclass(frozen=True, slots=True)
class _Document:
    file: str
    data: Mapping[Any, Any]
    lines: Mapping[_Place, int]
    repeated: tuple[Fault, ...]

    def line(self, place: _Place) -> int:
        """Return the line of a place, or of the nearest one around it that the file has."""
        steps = tuple(map(str, place))
        while steps not in self.lines:
            steps = steps[:-1]
        return self.lines[steps]


class _TooManyValues(Exception):
    """A document has more values than are read."""


class _Loader(yaml.SafeLoader):
    """A SafeLoader whose every error has a line, and which reads a limited number of values."""

    _n_nodes = 0

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        self._n_nodes += 1
        # A key is a node of its own.
        if self._n_nodes > 2 * _MOST_PLACES:
            raise _TooManyValues
        return super().compose_node(parent, index)

    def construct_scalar(self, node: ScalarNode | MappingNode) -> Any:
        value = super().construct_scalar(node)
        # Half a surrogate pair, written as an escape, could not be written out again.
        value.encode()
        return value

    def construct_object(self, node: Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, LookupError, AttributeError, TypeError) as error:
            # A date in month 13, say. The value itself stays out: it may be a secret.
            kind = node.tag.rpartition(":")[2]
            raise ConstructorError(None, None, f"no valid {kind}", node.start_mark) from error


def _text(source: Path) -> str:
    file = str(source)
    try:
        raw = content_of(source, _MOST_BYTES)
    except OSError:
        fault = Fault(file=file, actual=unreadable(source), expected="a YAML file")
        raise InputError([fault]) from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError([Fault(file, undecodable(error), "UTF-8 text", line)]) from None


def _parse(source: Path, text: str) -> _Document:
    file = str(source)
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is None:
            raise InputError([Fault(file, "an empty file", "a mapping, key: value")])
        if not isinstance(root, MappingNode):
            problem = "a list" if isinstance(root, SequenceNode) else "a single value"
            raise InputError([Fault(file, problem, "a mapping, key: value", _line(root))])
        lines, repeated = _survey(root, file)
        data = loader.construct_document(root)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"the character {chr(error.character)!r}"
        raise InputError([Fault(file, problem, "printable text", line)]) from None
    except yaml.MarkedYAMLError as error:
        raise InputError([_syntax_fault(error, file)]) from None
    except RecursionError:
        raise InputError([_too_deep(file)]) from None
    except _TooManyValues:
        problem = f"more than {_MOST_PLACES:,} values, aliases written out"
        raise InputError([Fault(file, problem, "a smaller file")]) from None
    return _Document(file, data, lines, repeated)


def _survey(root: MappingNode, file: str) -> tuple[dict[_Place, int], tuple[Fault, ...]]:
    """Return the line of every place in a document, and the keys that a mapping has twice."""
    lines: dict[_Place, int] = {(): _line(root)}
    repeated = []
    todo: list[tuple[_Place, Node]] = [((), root)]
    while todo:
        place, node = todo.pop()
        if len(place) > _DEEPEST:
            raise InputError([_too_deep(file, _line(node))])
        for step, marked, child in _children(node):
            inner = (*place, step)
            if inner in lines:
                repeated.append(
                    Fault(
                        file,
                        f"the key again, first on line {lines[inner]}",
                        "each key once",
                        _line(marked),
                        _dotted(inner),
                    )
                )
                continue
            lines[inner] = _line(marked)
            todo.append((inner, child))
        if len(lines) + len(repeated) > _MOST_PLACES:
            raise _TooManyValues
    return lines, tuple(repeated)


def _children(node: Node) -> Iterator[tuple[str, Node, Node]]:
    """Yield the step to each child, the node on whose line it starts, and the child."""
    if isinstance(node, MappingNode):
        for key, value in node.value:
            # A key that is no scalar is refused when it is constructed.
            yield (key.value if isinstance(key, ScalarNode) else str(_line(key))), key, value
    elif isinstance(node, SequenceNode):
        for index, item in enumerate(node.value):
            yield str(index), item, item


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _syntax_fault(error: yaml.MarkedYAMLError, file: str) -> Fault:
    mark = error.problem_mark or error.context_mark
    problem = error.problem
    if error.context and error.context_mark:
        problem = f"{error.context} begun on line {error.context_mark.line + 1}: {problem}"
    column = f" at column {mark.column + 1}" if mark else ""
    return Fault(
        file=file,
        actual=f"an error{column} ({problem})",
        expected="YAML",
        line=mark.line + 1 if mark else None,
    )


def _too_deep(file: str, line: int | None = None) -> Fault:
    return Fault(file, f"more than {_DEEPEST} levels of nesting", "fewer", line)


# From pydantic's errors to faults.


@dataclass(frozen=True, slots=True)
class _Complaint:
    place: _Place
    problem: str
    expected: str
    of_the_whole: bool


def _model_faults(
    error: ValidationError, model: type[BaseModel], document: _Document
) -> list[Fault]:
    complaints = [
        _complaint(detail, model, document.data) for detail in error.errors(include_url=False)
    ]
    merged: dict[tuple[_Place, str], list[str]] = {}
    for complaint in _relevant(complaints):
        expected = merged.setdefault((complaint.place, complaint.problem), [])
        if complaint.expected not in expected:
            expected.append(complaint.expected)
    return [
        Fault(document.file, problem, ", or ".join(expected), document.line(place), _dotted(place))
        for (place, problem), expected in merged.items()
    ]


def _complaint(detail: ErrorDetails, model: type[BaseModel], data: Mapping[Any, Any]) -> _Complaint:
    problem, expected = explain(detail)
    if detail["type"] == "extra_forbidden":
        *around, key = detail["loc"]
        known = sorted({name for kind in _kinds_at(model, around) for name in _keys(kind)})
        expected = f"one of the keys {', '.join(known)}{did_you_mean(str(key), known)}"
    place = _place(detail, data)
    of_the_whole = detail["type"].endswith("_type") or detail["type"] == "too_short"
    return _Complaint(place, problem, expected, of_the_whole)


def _relevant(complaints: list[_Complaint]) -> Iterator[_Complaint]:
    """Return the complaints without those that say of a value what a complaint about something
    inside it says better.

    Where a text or a mapping is allowed, pydantic calls a mapping with a fault "not a
    text" too; and a list "too short" that would not be without its faulty items.
    """
    around = {c.place[:depth] for c in complaints for depth in range(len(c.place))}
    return (c for c in complaints if not (c.of_the_whole and c.place in around))


def _place(detail: ErrorDetails, data: Any) -> _Place:
    """Return the place of an error in the file.

    The other steps of pydantic's path name alternatives of a union, which the writer of
    the file does not know.
    """
    place = []
    for step in detail["loc"]:
        if step in data if isinstance(data, Mapping) else _is_index(step, data):
            data = data[step]
            place.append(step)
    if detail["type"] == "missing":
        place.append(detail["loc"][-1])
    return tuple(place)


def _is_index(step: int | str, data: Any) -> bool:
    return isinstance(data, list) and isinstance(step, int) and step < len(data)


def _dotted(place: _Place) -> str | None:
    return ".".join(printable(str(step)) for step in place) or None


def _kinds_at(model: type[BaseModel], loc: Iterable[int | str]) -> list[type[BaseModel]]:
    """Return the models that may stand at a place in pydantic's path."""
    kinds: list[Any] = [model]
    for step in loc:
        kinds = [inner for kind in kinds for inner in _step_into(kind, step)]
        named = [kind for kind in kinds if _is_named(kind, step)]
        kinds = named or kinds
    return [kind for kind in kinds if _is_model(kind)]


def _step_into(kind: Any, step: int | str) -> list[Any]:
    if _is_named(kind, step):
        return [kind]
    if _is_model(kind):
        fields = (field for name, field in kind.model_fields.items() if step in (name, field.alias))
        return [inner for field in fields for inner in _alternatives(field.annotation)]
    # The items of a list, or the values of a mapping: in both, the arguments hold them.
    return [inner for argument in get_args(kind) for inner in _alternatives(argument)]


def _alternatives(annotation: Any) -> list[Any]:
    """Return an annotation's types, without `Annotated` and unions, for which pydantic's path has
    no step."""
    if get_origin(annotation) is Annotated:
        return _alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [kind for argument in get_args(annotation) for kind in _alternatives(argument)]
    return [annotation]


def _is_named(kind: Any, step: int | str) -> bool:
    """Return whether a step of pydantic's path names this alternative."""
    if not _is_model(kind):
        return False
    tags = (
        get_args(field.annotation)
        for field in kind.model_fields.values()
        if get_origin(field.annotation) is Literal
    )
    return step == kind.__name__ or any(step in values for values in tags)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _keys(kind: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in kind.model_fields.items()]
