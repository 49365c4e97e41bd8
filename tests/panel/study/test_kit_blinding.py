"""No packet says whose a text is: the bytes of every file that a rater could be sent."""

from __future__ import annotations

import json
import stat
from base64 import b64encode
from hashlib import md5, sha1, sha256
from html import escape
from pathlib import Path
from urllib.parse import quote

import pytest

from persona_panel import Response
from persona_panel.cli.people import _FORMATS, _writer
from persona_panel.planning.definitions import resolve_rubric
from persona_panel.study.design import StudySettings
from persona_panel.study.exports import packet_in, packet_page
from persona_panel.study.kit import Study, make_study, naming_texts


def forms(name: str) -> set[bytes]:
    """A name as it could stand in a file: plain, escaped, encoded, or as a digest without a key."""
    raw = name.encode()
    plain = {
        name,
        name[::-1],
        escape(name),
        json.dumps(name)[1:-1],
        quote(name),
        quote(name, safe=""),
        "".join(f"&#{ord(char)};" for char in name),
        "".join(f"&#x{ord(char):x};" for char in name),
        "".join(f"\\u{ord(char):04x}" for char in name),
        raw.hex(),
        *(kind(raw).hexdigest()[:16] for kind in (md5, sha1, sha256)),
    }
    # In base64 a text looks otherwise by its place among others: three forms without their ends.
    for before in range(3):
        encoded = b64encode(b"x" * before + raw).decode().rstrip("=")
        plain.add(encoded[4 if before else 0 : -1])
    return {one.lower().encode() for one in plain} | {name.lower().encode("utf-16-le")}


def named(content: bytes, names: set[str]) -> set[str]:
    """The names of which a form stands in a file."""
    return {name for name in names if any(form in content.lower() for form in forms(name))}


def telling(study: Study) -> set[str]:
    """Names of systems, ids, metadata and the secret: what no packet may have."""
    said = {one.system for one in study.responses} | {one.id for one in study.responses}
    said |= {str(one.prompt_id) for one in study.responses}
    return said | {"secretmetadata", study.key.secret, "calibration", "attention", "repeats"}


@pytest.mark.parametrize("form", list(_FORMATS))
def test_no_packet_has_a_name_or_an_id_that_tells_one(
    form: str, study: Study, tmp_path: Path
) -> None:
    """In no file for a rater, of any format that `people make` knows, stands a system's name, an
    id, metadata, the secret or a set's role, plain, escaped, encoded or digested."""
    _writer(form)(study, tmp_path / "packets")
    files = [path for path in (tmp_path / "packets").rglob("*.*") if path.is_file()]
    assert len(files) >= len(study.packets)
    for path in files:
        assert named(path.read_bytes() + str(path.name).encode(), telling(study)) == set(), path


@pytest.mark.parametrize("form", sorted(forms("zyxwriter")))
def test_the_search_finds_a_name_in_every_form(form: bytes, study: Study) -> None:
    """A packet to which a name is added in any form is found: the test above can fail."""
    page = packet_page(study.packets[0]).encode()
    assert named(page + form, {"zyxwriter"}) == {"zyxwriter"}


def test_ids_follow_from_the_secret_alone(study: Study) -> None:
    """The same texts and seed give the same order of texts and other ids; no id comes twice."""
    again = make_study(study.responses, study.key.rubric, study.design.settings)
    assert again.design == study.design
    ours, theirs = (
        [text.id for packet in one.packets for each in packet.sets for text in each.texts]
        for one in (study, again)
    )
    assert len(set(ours)) == len(ours)
    assert set(ours) & set(theirs) == set()


def test_only_the_owner_can_read_the_key(folder: Path) -> None:
    """The folder and its files have private modes, and the packets are apart from it."""
    key = folder / "key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in key.iterdir()} == {0o600}
    assert {one.name for one in (folder / "packets").iterdir()} == {
        f"rater-0{n}.html" for n in range(1, 5)
    }


def test_a_page_gives_its_packet_back(study: Study, folder: Path) -> None:
    """What a program reads of a page is the packet that the key has the digest of."""
    packet = packet_in(folder / "packets" / "rater-02.html")
    assert packet == study.packets[1]
    assert packet.digest == study.key.packets[1].sha256


SYSTEMS_NAMED = ("openai:gpt-9o-mini-2031", "anthropic:claude-sonnet-9-5", "ash", "no", "Team-7")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("As GPT-9o, I say so.", "GPT-9o"),
        ("As GPT 9o, I say so.", "GPT 9o"),
        ("gpt_9o says so.", "gpt_9o"),
        ("So says GPT9o.", "GPT9o"),
        ("By gpt-9o-mini-2031.", "gpt-9o-mini-2031"),
        ("I am Claude.", "Claude"),
        ("I am Claude Sonnet 9.5!", "Claude Sonnet 9.5"),
        ("TEAM 7 wrote it, and the ashes.", "TEAM 7"),
        # Within a word, of two letters, or a word of a name that is no model's.
        ("A rash, washed no more by a team of claudettes; Egypt-9o.", None),
    ],
)
def test_texts_that_name_a_system_are_found(text: str, found: str | None) -> None:
    """Whole words, whatever their case and what parts them, also without the provider and what
    follows a number."""
    response = Response(id="1", prompt_id="p", prompt="Why?", text=text, system="ash")
    named_in = [(one.part, one.name, one.own) for one in naming_texts([response], SYSTEMS_NAMED)]
    assert named_in == ([] if found is None else [("response", found, False)])


def test_a_text_that_names_its_own_system_is_told_apart() -> None:
    """Also in the prompt, and before the name of another."""
    response = Response(
        id="1", prompt_id="p", prompt="What, Ash?", text="Team 7 won.", system="ash"
    )
    [one] = naming_texts([response], SYSTEMS_NAMED)
    assert (one.part, one.name, one.own) == ("prompt", "Ash", True)


def test_a_rubric_of_categories_and_real_numbers_can_be_shown(tmp_path: Path) -> None:
    """Scales of every kind have a page, and instructions and consent of one's own stand in it."""
    responses = [
        Response(id=str(n), prompt_id="p", prompt="P?", text=f"T{n}", system=str(n))
        for n in range(2)
    ]
    for name in ("critical-question", "conceptual-critique"):
        made = make_study(
            responses,
            resolve_rubric(name),
            StudySettings(1, 2),
            consent="My own consent",
            instructions="My own instructions",
        )
        page = packet_page(made.packets[0])
        assert "My own consent" in page
        assert "My own instructions" in page
        kinds = {one.kind for one in made.packets[0].dimensions}
        assert kinds == {"category" if name == "critical-question" else "real"}
