"""The instructions of another language: which are refused, and what is read in its words."""

from __future__ import annotations

import re
from pathlib import Path
from unicodedata import decimal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from persona_panel.planning.languages import language_names, load_translation
from persona_panel.rubrics import Dimension, RealScale, Scale
from persona_panel.rubrics import instructions as module
from persona_panel.rubrics.instructions import ENGLISH, JudgeInstructions, Language, ReplyWords
from persona_panel.rubrics.replies import (
    Unreadable,
    ascii_figures,
    is_refusal,
    read_flag,
    read_object,
    read_score,
)
from persona_panel.rubrics.single_number import read_number

OTHERS = language_names()[1:]

ON_TEN = Dimension(
    id="clarity", label="C", definition="D", guiding_question="G",
    scale=Scale(min=1, max=10, low="poor", high="good"),
)  # fmt: skip
SHARE = ON_TEN.model_copy(update={"scale": RealScale(min=0, max=1, low="none", high="all")})

EIGHTS = {
    "ar": ["التقييم: ٨", "٨ من ١٠", "درجتي هي ٨", "أعطي هذا النص ٨ نقاط", "أمنحه 8 من أصل 10",
           "الدرجة النهائية: ٨/١٠", "على مقياس من ١ إلى ١٠ أعطي ٨", "The score is 8."],
    "de": ["Meine Bewertung ist 8.", "Bewertung: 8,0", "8 von 10", "8 von maximal 10 Punkten",
           "Ich vergebe 8 Punkte, auf der Skala von 1 bis 10.", "Gesamturteil: **8/10**",
           "The score is 8."],
    "es": ["Mi puntuación es 8.", "Puntuación: 8,0", "8 sobre 10", "8 de un máximo de 10",
           "En la escala de 1 a 10, le doy 8 puntos.", "Nota final: **8/10**", "The score is 8."],
    "zh": ["评分：8", "我的评分是８。", "８／１０", "8分", "我给8分", "最终得分：8分（满分10分）",
           "在1到10的范围内，我给出的评分为8。", "The score is 8."],
}  # fmt: skip
"""Answers that give an 8 out of 10."""

NONE_GIVEN = {
    "ar": ["لا أعطي ٨", "في النص ٨ فقرات.", "التقييم: ٨٪"],
    "de": ["Ich gebe keine Bewertung, auch keine 8.", "Der Text hat 8 Absätze.", "Bewertung: 8%"],
    "es": ["No doy un 8.", "El texto tiene 8 párrafos.", "Puntuación: 8%"],
    "zh": ["我不给8分", "文中有8个段落。", "评分：8%"],
}
"""Answers that give no rating."""

REFUSALS = {
    "ar": ["لا أستطيع تقييم هذا النص.", "أعتذر عن تقييمه.", "I cannot rate this."],
    "de": ["Ich kann diesen Text leider nicht bewerten.", "Das lehne ich ab: ich lehne es ab.",
           "Als KI bewerte ich so etwas nicht.", "I cannot rate this."],
    "es": ["No puedo valorar este texto.", "Lo siento, me niego a hacerlo.",
           "Como modelo de lenguaje, eso no lo valoro.", "I cannot rate this."],
    "zh": ["我无法对这篇文本评分。", "抱歉，这个我不能评价。", "I cannot rate this."],
}  # fmt: skip

FLAGS = {
    "ar": (["نعم", "صحيح", "yes"], ["لا", "خطأ", "false"]),
    "de": (["ja", "Wahr", "yes"], ["nein", " falsch ", "false"]),
    "es": (["sí", "Verdadero", "yes"], ["no", " falso ", "false"]),
    "zh": (["是", "正确", "yes"], ["否", "不是", "false"]),
}

SHARES = {
    "ar": "التقييم: ٠٫٧٥",
    "de": "Meine Bewertung ist 0,75.",
    "es": "Mi puntuación es 0,75.",
    "zh": "评分：０．７５",
}


def each(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Every language with each of its texts."""
    return [(language, text) for language, texts in table.items() for text in texts]


def test_every_language_is_tried() -> None:
    """No translation comes without answers in its words."""
    for table in (EIGHTS, NONE_GIVEN, REFUSALS, FLAGS, SHARES):
        assert tuple(sorted(table)) == OTHERS


@pytest.mark.parametrize(("language", "text"), each(EIGHTS))
def test_a_number_is_read_in_words_of_the_language(language: str, text: str) -> None:
    """The words around a number may be of the language in which the judge was asked."""
    assert read_number(text, ON_TEN, load_translation(language)) == 8


@pytest.mark.parametrize(("language", "text"), each(NONE_GIVEN))
def test_a_number_that_is_no_rating_is_not_read(language: str, text: str) -> None:
    """A sentence that denies, counts something or states a percentage gives no rating."""
    with pytest.raises(Unreadable):
        read_number(text, ON_TEN, load_translation(language))


@pytest.mark.parametrize(("language", "text"), SHARES.items())
def test_decimals_are_read_in_the_language(language: str, text: str) -> None:
    """A comma, or the sign of another script, may part the decimals."""
    assert read_number(text, SHARE, load_translation(language)) == 0.75


@pytest.mark.parametrize(("language", "text"), each(REFUSALS))
def test_a_refusal_is_recognized(language: str, text: str) -> None:
    """A judge declines in the language in which it was asked, or in English."""
    assert is_refusal(text, load_translation(language))


@pytest.mark.parametrize("language", FLAGS)
def test_yes_and_no_are_read(language: str) -> None:
    """Yes and no may be written in the language or in English."""
    yes, no = FLAGS[language]
    words = load_translation(language)
    assert [read_flag(text, "abstained", words) for text in yes] == [True] * len(yes)
    assert [read_flag(text, "abstained", words) for text in no] == [False] * len(no)
    with pytest.raises(Unreadable):
        read_flag(yes[0], "abstained")


DIGITS = [
    [chr(code + at) for at in range(10)]
    for code in range(0x110000)
    if chr(code).isdecimal() and decimal(chr(code)) == 0
]
"""The ten digits of every script."""


@given(st.sampled_from(DIGITS), st.integers(1, 10), st.sampled_from(OTHERS))
def test_digits_of_every_script_are_read_alike(digits: list[str], score: int, name: str) -> None:
    """A rating in the digits of any script is that in those of ASCII, in JSON and in words."""
    written = "".join(digits[int(figure)] for figure in str(score))
    assert ascii_figures(written) == str(score)
    assert read_score(written, ON_TEN) == score
    assert read_number(written, ON_TEN, load_translation(name)) == score
    assert read_object(f'{{"clarity": {written}}}', ("clarity",)) == {"clarity": score}


@pytest.mark.parametrize(
    "text", ["{“clarity”：８}", "｛＂clarity＂：８｝", '{"clarity": ٨،}', "{„clarity“: 8}"]
)
def test_an_object_in_the_signs_of_another_script_is_read(text: str) -> None:
    """Full-width signs, typographic quotation marks and Arabic commas are those of JSON."""
    assert read_object(text, ("clarity",)) == {"clarity": 8}


def german(**change: object) -> dict[str, object]:
    """The document of the German instructions, changed."""
    document = load_translation("de").instructions.model_dump()
    return document | change


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"material": "Material."}, "{fence}"),
        ({"material": "{fence} {mark}"}, "{fence}"),
        ({"give_number": "Eine Zahl {"}, "braces in pairs"),
        ({"faults": {"{name} is {value}, not true or false": "{name}"}}, "{value}"),
        ({"instruction": "x"}, "instruction"),
    ],
)
def test_an_instruction_that_cannot_be_filled_in_is_refused(
    change: dict[str, object], fault: str
) -> None:
    """A translation has the places of the English instruction and no other."""
    with pytest.raises(ValidationError, match=re.escape(fault)):
        JudgeInstructions.model_validate(german(**change))


def test_an_instruction_that_is_missing_is_refused() -> None:
    """None of another language is left in English."""
    document = german()
    del document["peers"], document["order"]
    with pytest.raises(ValidationError, match="no entry order, peers; every instruction"):
        JudgeInstructions.model_validate(document)


def test_a_pattern_that_is_none_is_refused() -> None:
    """The words of replies are regular expressions."""
    with pytest.raises(ValidationError, match="regular expression"):
        ReplyWords(refusal="(ich kann nicht")


@pytest.mark.parametrize("pattern", ["", "Note|", "x*"])
def test_a_pattern_that_any_reply_has_is_refused(pattern: str) -> None:
    """An expression that matches empty text would read any reply as a refusal."""
    with pytest.raises(ValidationError, match="does not match empty text"):
        ReplyWords(refusal=pattern)


@pytest.mark.parametrize("pattern", ["(?:(?:a+)+)+b", r"(\w+)*x", "([ab]*)+c"])
def test_a_pattern_that_takes_for_ever_is_refused(pattern: str) -> None:
    """A repetition of a repetition has more ways to fail than a reply has time."""
    with pytest.raises(ValidationError, match="without a repetition of a repetition"):
        ReplyWords(rating=pattern)


def test_replies_may_be_english_in_every_language() -> None:
    """The words of another language stand beside the English ones, which stay alone in English."""
    own = Language(
        name="X",
        instructions=load_translation("de").instructions,
        replies=ReplyWords(affirmed="jo"),
    )
    assert [re.fullmatch(own.reply_words.affirmed, text) is not None for text in
            ("jo", "yes", "ja")] == [True, True, False]  # fmt: skip
    assert ENGLISH.reply_words is ENGLISH.replies


def test_every_fault_of_an_answer_is_translated() -> None:
    """What is wrong with an answer, in whichever words the code says it, is in every language."""
    folder = Path(module.__file__).parent
    # After these nothing is asked again.
    last = {
        "the value of {key} was not found",
        "it says {'two things' if values else 'nothing'} at {path}",
    }
    said = set()
    for path in [*folder.glob("*.py"), *folder.glob("elicitations/*.py")]:
        # A prompt of a user's own is not sent again.
        if path.stem != "verbatim":
            text = path.read_text(encoding="utf-8")
            said |= set(re.findall(r'Unreadable\(\s*f?"([^"]+)"', text))
            said |= set(re.findall(r'else "([^"]+from \{min\} to \{max\})"', text))
    said |= {"it is empty", "{name} is {value}, not a number from {min} to {max}"}
    assert len(said) > 10
    assert last < said
    for language in OTHERS:
        assert set(load_translation(language).instructions.faults) == said - last


def test_a_key_is_no_truth_value_of_yaml() -> None:
    """No key of a language's file is read by YAML as true or false, as `yes` and `no` are."""
    for path in (Path(module.__file__).parent / "languages").glob("*.yaml"):
        todo = [yaml.safe_load(path.read_text(encoding="utf-8"))]
        while todo:
            node = todo.pop()
            assert all(isinstance(key, str) for key in node)
            todo += [value for value in node.values() if isinstance(value, dict)]
