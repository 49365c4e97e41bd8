"""Words, sentences and characters by Unicode Standard Annex #29, in any language."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from persona_panel.rubrics.segmentation import (
    abbreviated,
    graphemes,
    plain_words,
    prefix,
    sentences,
    trimmed,
    words,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  well-known, isn't\tit? ", ["well-known,", "isn't", "it?"]),
        ("3.5 — a/b", ["3.5", "—", "a/b"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("「你好」，世界！", ["「你", "好」，", "世", "界！"]),
        ("使用GPT-4模型", ["使", "用", "GPT-4", "模", "型"]),
        # Annex #29, WB13: katakana stay together, hiragana do not.
        ("カタカナを", ["カタカナ", "を"]),
        ("กำ", ["กำ"]),
        ("안녕하세요 세계", ["안녕하세요", "세계"]),
        ("👩\u200d💻 ok", ["👩\u200d💻", "ok"]),
    ],
)
def test_words_stand_between_spaces_or_are_characters(text: str, expected: list[str]) -> None:
    """Scripts without spaces have a word a character; punctuation stays with its word."""
    assert words(text) == expected


@pytest.mark.parametrize(
    "expected",
    [
        # Rules of Annex #29: GB3, GB6 to GB8, GB9, GB9a, GB9c, GB11, GB12.
        ["\r\n"],
        ["\u1100\u1160\u11a8", "\uac00"],
        ["a\u0308", "b"],
        ["\u0e01\u0e33", "x"],
        ["\u0915\u094d\u0924"],
        ["\U0001f469\u200d\U0001f469\u200d\U0001f467", "!"],
        ["\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7", "\U0001f1e9"],
    ],
)
def test_characters_are_clusters_of_annex_29(expected: list[str]) -> None:
    """A letter with its marks, a syllable, a family and a flag are one character each."""
    assert graphemes("".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["He came. ", "Who?\n\n", "3.5 of 5\nNo"],
        ["Dr. Who of the U.S. came (so!). ", "“Go.” ", "**Why?** ", "Yes"],
        ["So....but no"],
        ["我来了！？”", "他说。", "好"],
        ["كيف؟ ", "نعم"],
        ["वह आया।", "वह गया।"],
    ],
)
def test_sentences_end_where_their_script_ends_them(expected: list[str]) -> None:
    """Marks of any script; a full stop needs a space behind it, a Chinese one does not."""
    assert sentences("".join(expected)) == expected


def test_plain_words_keep_vowel_signs() -> None:
    """Words that differ in a vowel sign alone are not the same; case and width are."""
    assert plain_words("कि") != plain_words("की")
    assert plain_words("ＡＢＣ ﬁn.") == ["abc", "fin"]


def test_thousands_of_marks_are_read_once() -> None:
    """No text takes a time that grows with the square of its length."""
    began = time.process_time()
    for text in ("." * 50_000 + "x", ".”" * 25_000 + "x", "。" * 50_000):
        sentences(text)
    assert time.process_time() - began < 2


ANY = st.text(alphabet=st.sampled_from([*"ab .!?-\n“”’*你好。「」のカนำ🇩🇪👩\u200d💻\u0301कि।؟ب"]))


@given(ANY)
def test_parts_are_of_the_text(text: str) -> None:
    """Joined, words are the text without spaces, sentences and characters are the text."""
    assert "".join(words(text)) == "".join(text.split())
    assert "".join(sentences(text)) == text
    assert "".join(graphemes(text)) == text


@given(ANY, st.integers(1, 12))
def test_what_is_cut_is_a_beginning_of_whole_characters(text: str, most: int) -> None:
    """A cut text is a prefix within its cap, ends between two characters, and is the longest."""
    kept = prefix(text, most)
    assert text.startswith(kept)
    assert len(kept) <= most
    whole = graphemes(text)
    n = len(graphemes(kept))
    assert graphemes(kept) == whole[:n]
    assert n == len(whole) or len("".join(whole[: n + 1])) > most
    assert len(abbreviated(text, most)) <= most
    cut = trimmed(text, most)
    assert text.startswith(cut.text)
    assert len(words(cut.text)) <= most


@pytest.mark.parametrize(
    ("text", "most", "kept", "at"),
    [
        ("One two three.", 3, "One two three.", None),
        ("One two. Three four five. Six", 5, "One two. Three four five.", "sentence"),
        ("One two. Three four five. Six", 4, "One two.", "sentence"),
        # Neither an abbreviation nor an initial ends a sentence.
        ("It ends. Then Dr. Who came", 4, "It ends.", "sentence"),
        ("It ends. Then J. Mill came", 4, "It ends.", "sentence"),
        ("He asked “why?” and left us", 4, "He asked “why?”", "sentence"),
        ("No end in sight here", 3, "No end in", "word"),
        ("Line one.\n\n  Line two goes on", 3, "Line one.", "sentence"),
        ("ein zwei。 drei vier", 2, "ein zwei。", "sentence"),
        ("我来了。他走了。我们说话", 9, "我来了。他走了。", "sentence"),
        ("هل جاء؟ نعم جاء أمس", 3, "هل جاء؟", "sentence"),
        ("वह आया। फिर वह गया", 3, "वह आया।", "sentence"),
        ("Er kam, z. B. gestern. Dann ging er", 5, "Er kam, z. B. gestern.", "sentence"),
    ],
)
def test_a_text_is_cut_behind_its_last_whole_sentence(
    text: str, most: int, kept: str, at: str | None
) -> None:
    """What is kept is a beginning of the text within the cap, and it says where it was cut."""
    cut = trimmed(text, most)
    assert (cut.text, cut.at) == (kept, at)
    assert text.startswith(cut.text)
    assert len(words(cut.text)) <= most
