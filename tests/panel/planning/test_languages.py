"""The panel in other languages: whole translations, whole requests, and what is refused."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from string import Formatter

import pytest
import yaml

from persona_panel import (
    ConfigurationError,
    InputError,
    Panel,
    PersonaSet,
    Rubric,
    load_definition,
    personas,
    rubrics,
)
from persona_panel.planning.definitions import resolve_personas, resolve_rubric
from persona_panel.planning.languages import (
    english_words,
    language_names,
    load_translation,
    texts_of,
)
from persona_panel.rubrics import CategoryScale, elicitation_names, load_elicitation
from persona_panel.rubrics.instructions import ENGLISH
from persona_panel.rubrics.replies import FAULTS
from tests.helpers import forked
from tests.helpers.all_requests import all_requests, words_of
from tests.helpers.distributions import installed

ROOT = Path(__file__).parents[3]
OTHERS = language_names()[1:]
RUBRICS = [
    ":".join(filter(None, (name, variant)))
    for name, path in rubrics.shipped().items()
    for variant in (None, *load_definition(path, Rubric).variants)
]


def places(text: str) -> set[str]:
    """The names in braces of a text."""
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_is_whole(language: str) -> None:
    """Every text of English is there and no other, with the same places, and none is English."""
    english, own = texts_of(english_words()), texts_of(load_translation(language))
    assert own.keys() == english.keys()
    alike = []
    for place, text in own.items():
        if place[0] == "instructions":
            assert places(text) == places(english[place]), place
        if text == english[place] and len(text.split()) > 2:
            alike.append(place)
    assert not alike


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("name", RUBRICS)
def test_a_rubric_keeps_its_form(name: str, language: str) -> None:
    """Dimensions, scales, categories and what serves a rubric are those of English: only words
    change."""
    english, own = resolve_rubric(name), resolve_rubric(name, language)
    assert own.language == language
    for before, after in zip(english.dimensions, own.dimensions, strict=True):
        words = {"label", "definition", "guiding_question", "family", "scale"}
        assert after.model_dump(exclude=words) == before.model_dump(exclude=words)
        assert after.definition != before.definition
        if isinstance(before.scale, CategoryScale):
            assert isinstance(after.scale, CategoryScale)
            assert after.scale.names == before.scale.names
        else:
            assert (after.scale.min, after.scale.max) == (before.scale.min, before.scale.max)
    for elicitation in map(load_elicitation, elicitation_names()):
        assert (elicitation.serves(own) is None) == (elicitation.serves(english) is None)


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("name", RUBRICS)
def test_every_request_is_in_the_language(name: str, language: str) -> None:
    """Whatever is asked of a rubric, by any elicitation and after any answer, holds no sentence of
    the English instructions, rubrics or personas; and there are as many requests as in English."""
    set_name = "perspectives"
    [persona, *_] = resolve_personas(set_name, language)
    rubric = resolve_rubric(name, language)
    asked = list(all_requests(rubric, persona.label, persona.description))
    [in_english, *_] = resolve_personas(set_name)
    originally = all_requests(resolve_rubric(name), in_english.label, in_english.description)
    assert [by for by, _ in asked] == [by for by, _ in originally]
    sentences = {
        piece.strip()
        for text in texts_of(english_words()).values()
        for piece in re.split(r"\{\w*\}|[.?!:]", text)
        if len(piece.split()) > 2
    }
    sentences |= {"<fault", "Last."}
    for _, request in asked:
        text = words_of(request)
        found = [sentence for sentence in sentences if sentence in text]
        assert not found, text


@pytest.mark.parametrize("language", ["zh", "ar"])
@pytest.mark.parametrize("name", RUBRICS)
def test_lists_have_the_separators_of_the_language(name: str, language: str) -> None:
    """Behind a letter of its script stands no comma or semicolon of ASCII, in any request."""
    rubric = resolve_rubric(name, language)
    [persona, *_] = resolve_personas("perspectives", language)
    for _, request in all_requests(rubric, persona.label, persona.description):
        assert not re.search(r"[^\W\d_a-zA-Z][)`]?[,;] ", text := words_of(request)), text
        assert not re.search(r"\)[,;] |`[,;] ", text), text


@pytest.mark.parametrize("language", OTHERS)
def test_every_persona_set_is_translated(language: str) -> None:
    """Personas keep ids and axes, and no persona stays none."""
    for name in personas.shipped():
        english, own = resolve_personas(name), resolve_personas(name, language)
        assert [(each.id, each.axis) for each in own] == [(each.id, each.axis) for each in english]
        for before, after in zip(english, own, strict=True):
            assert (before.description == after.description) == (before.id == "none")


def panel(language: str | None = None, **settings: object) -> Panel:
    """A panel of a model that nobody asks."""
    return Panel(models="openai:stub", language=language, **settings)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")


@pytest.mark.parametrize("name", ["xx", "DE", "german"])
def test_a_language_that_is_not_there_is_refused(name: str) -> None:
    """The error names the languages that are there, and how to come by another."""
    with pytest.raises(ConfigurationError) as error:
        panel(name)
    assert ", ".join(language_names()) in str(error.value)
    assert "library languages en" in str(error.value)


def own_file(tmp_path: Path, **change: object) -> Path:
    """A translation of a user's own: the English words, marked, in the form of its file."""
    document = english_words().model_dump()
    document["name"] = "Marked"
    for section in ("sets", "instructions"):
        document[section] = {
            key: f"§ {text}" if isinstance(text, str) else text
            for key, text in document[section].items()
        }
    path = tmp_path / "mk.yaml"
    path.write_text(yaml.safe_dump(document | change, allow_unicode=True), encoding="utf-8")
    return path


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    """A file that is edited while Python runs is read as it is now; one that is not is read once
    for personas, rubric and instructions."""
    for name in ("Marked", "Changed"):
        path = str(own_file(tmp_path, name=name))
        assert load_translation(path).name == name
        assert load_translation(path) is load_translation(path)


@pytest.mark.parametrize("ending", ["yaml", "yml"])
def test_a_path_of_either_ending_is_a_file_of_ones_own(tmp_path: Path, ending: str) -> None:
    """Its code is its name without the ending."""
    path = own_file(tmp_path).rename(tmp_path / f"mk.{ending}")
    assert panel(str(path)).rubric.language == "mk"


def test_faults_of_answers_are_those_that_are_said() -> None:
    """Every fault with which an answer is asked for again is in the list that languages translate,
    and no other; the rest are of answers that are given up."""
    modules = list(Path(rubrics.__file__).parent.rglob("*.py"))
    code = "\n".join(path.read_text("utf-8") for path in modules if path.name != "replies.py")
    own = Path(rubrics.__file__).with_name("replies.py").read_text("utf-8")
    code += own.partition("FAULTS = (")[0] + own.partition("class Unreadable")[2]
    assert [fault for fault in FAULTS if f'"{fault}"' not in code] == []
    assert list(english_words().instructions.faults) == list(FAULTS)


def test_a_file_of_ones_own_is_a_language(tmp_path: Path) -> None:
    """A panel file names it by a path beside itself; run.json and the rubric hold its words, so
    that a run is read where the file is not; a rubric that says its code keeps its own words."""
    own_file(tmp_path)
    file = tmp_path / "panel.yaml"
    file.write_text("language: mk.yaml\nmodels: [openai:stub]\n")
    made = Panel.from_file(file)
    assert made.rubric.language == "mk"
    kept = Rubric.model_validate(json.loads(json.dumps(made.rubric.model_dump(mode="json"))))
    assert kept == made.rubric
    assert kept.asked_in.instructions.system.startswith("§ You sit on a panel")
    rubric = made.rubric.model_copy(update={"translation": None, "question": "Hyvä?"})
    again = panel(str(tmp_path / "mk.yaml"), rubric=rubric)
    assert (again.rubric.question, again.rubric.asked_in.name) == ("Hyvä?", "Marked")
    assert panel(None, rubric=kept, personas=made.personas).rubric.asked_in.name == "Marked"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"name": ""}, "name"),
        ({"instructions": {}}, "instructions"),
        ({"rubriks": {}}, "rubriks"),
        ({"personas": {"sociologist": {"label": "S"}}}, "personas.sociologist.description"),
        ({"replies": {"rating": "("}}, "replies.rating"),
    ],
)
def test_a_file_with_faults_is_refused(
    tmp_path: Path, change: dict[str, object], fault: str
) -> None:
    """Each fault of a translation is named with its place."""
    with pytest.raises(InputError) as error:
        panel(str(own_file(tmp_path, **change)))
    assert fault in str(error.value)


@pytest.mark.parametrize(
    ("change", "lacking"),
    [
        ({"rubrics": {}}, "rubrics.scrub.label"),
        ({"personas": {}}, "personas.sociologist"),
        ({"sets": {}}, "sets.perspectives"),
    ],
)
def test_what_a_translation_lacks_is_named(
    tmp_path: Path, change: dict[str, object], lacking: str
) -> None:
    """A rubric or persona set of the library that is not translated is refused, not asked in
    English."""
    with pytest.raises(ConfigurationError, match=re.escape(lacking)) as error:
        panel(str(own_file(tmp_path, **change)))
    assert "language: mk" in str(error.value)


def test_places_that_are_lacking_are_named_in_the_order_of_the_file(tmp_path: Path) -> None:
    """The label of a set comes before its personas; of many the first three, and how many more."""
    n = len(resolve_personas("perspectives"))
    with pytest.raises(ConfigurationError) as error:
        panel(str(own_file(tmp_path, sets={}, personas={})))
    first, second = (each.id for each in resolve_personas("perspectives")[:2])
    said = f"sets.perspectives, personas.{first}, personas.{second} and {n - 2} more; add them"
    assert said in str(error.value)
    words = english_words().model_dump()["personas"]
    for name in (first, second):
        del words[name]
    with pytest.raises(ConfigurationError) as error:
        panel(str(own_file(tmp_path, personas=words, sets={})))
    three = f"sets.perspectives, personas.{first}, personas.{second}; add them"
    assert three in str(error.value)


def test_texts_of_a_translation_are_those_with_words(tmp_path: Path) -> None:
    """Marks without words, names in braces, and the patterns by which replies are read are none;
    each text is as it stands, by its place."""
    translation = english_words()
    texts = texts_of(translation)
    assert texts["instructions", "system"] == translation.instructions.system
    assert texts["sets", "perspectives"] == translation.sets["perspectives"]
    assert ("instructions", "comma") not in texts
    assert not any(place[0] in ("name", "replies") for place in texts)
    spaced = translation.model_copy(update={"sets": {"a": " A ", "b": " – ", "c": "{name}: "}})
    assert texts_of(spaced)["sets", "a"] == " A "
    assert {("sets", "b"), ("sets", "c")}.isdisjoint(texts_of(spaced))


def test_words_in_another_language_are_refused() -> None:
    """A rubric or persona set of one's own is asked in its own language alone."""
    german = load_definition(rubrics.shipped()["scrub"], Rubric)
    with pytest.raises(ConfigurationError, match=r"'en'.*'de'"):
        panel("de", rubric=german)
    own = PersonaSet(id="own", label="Own", personas=[{"id": "a", "label": "A", "axis": "x",
                                                       "description": "You."}])  # fmt: skip
    with pytest.raises(ConfigurationError, match=r"persona set.*'en'"):
        panel("de", personas=own)
    said = own.model_copy(update={"language": "de"})
    assert panel("de", personas=said).personas[0].description == "You."
    in_german = german.model_copy(update={"language": "de"})
    assert panel(None, rubric=in_german).rubric.asked_in.name == "German"
    assert panel(None, rubric=in_german).personas[0].label != "Sociologist"


def test_english_is_as_it_was() -> None:
    """Without a language, and in English, nothing of languages is in a run's record, and the
    requests have the key that they had."""
    plain, english = panel(), panel("en")
    assert plain.plan.rubric == english.plan.rubric
    assert {"language", "translation"}.isdisjoint(plain.rubric.model_dump())
    assert plain.rubric.asked_in is ENGLISH
    assert ENGLISH.notice == []


def test_the_cache_knows_languages_apart() -> None:
    """Judges of two languages are asked in other words, so that no answer serves both."""
    from persona_panel.planning.panel_plan import manifest_of

    digests = [manifest_of(panel(name).plan)["prompts"]["openai:stub"] for name in language_names()]
    assert len(set(digests)) == len(language_names())


def test_words_of_another_packages_elicitation_are_said_to_be_untranslated(tmp_path: Path) -> None:
    """In a dry run and in run.json; not of our own elicitations, nor in English."""
    source = (ROOT / "examples/extensions/grade.py").read_text("utf-8")
    installed(tmp_path, "elicitations", "grade = others_grade", "others_grade", source)
    code = (
        "from persona_panel import Panel\n"
        "from persona_panel.planning.panel_plan import manifest_of\n"
        "from persona_panel.testing import ScriptedModel\n"
        "for language in (None, 'de'):\n"
        "    for name in ('grade', 'holistic'):\n"
        "        plan = Panel(personas='disciplinary', rubric='scrub', language=language,\n"
        "                     models=[ScriptedModel('A')], elicitation=name).plan\n"
        "        print(manifest_of(plan).get('notice'))\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = forked.run([sys.executable, "-c", code], tmp_path, os.environ | {"PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    german = load_translation("de").notice[0]
    theirs = " Words of the elicitation grade, of another package, may be English."
    assert done.stdout.splitlines() == ["None", "None", german + theirs, german]


@pytest.mark.parametrize("language", OTHERS)
def test_a_language_without_an_elicitations_words_is_refused(language: str, tmp_path: Path) -> None:
    """Judges are never asked half in English by an elicitation of this project: the field that a
    language lacks is named."""
    path = tmp_path / f"{language}.yaml"
    words = yaml.safe_load((ROOT / f"rubrics/languages/{language}.yaml").read_text("utf-8"))
    del words["instructions"]["again_order"]
    path.write_text(yaml.safe_dump(words, allow_unicode=True), "utf-8")
    with pytest.raises(InputError, match="again_order"):
        load_translation(str(path))
