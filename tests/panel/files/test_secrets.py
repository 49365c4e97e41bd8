"""Which keys are looked for, in which forms they are found, and where they are learned."""

from __future__ import annotations

import base64
import json
import urllib.parse

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from persona_panel.files.errors import ConfigurationError, Fault, InputError
from persona_panel.files.secrets import SECRETS, Secrets, credentials_in, is_secret, learn_proxies
from persona_panel.models.client import CallError

KEY = "canary-4f9e+Zq/0123456789"

keys = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=40).filter(
    is_secret
)
others = st.text(max_size=40)


def knowing(*given_keys: str) -> Secrets:
    secrets = Secrets()
    secrets.learn(*given_keys)
    return secrets


@settings(deadline=None)
@given(keys, others, others)
def test_a_key_is_found_in_every_form(key: str, before: str, after: str) -> None:
    """As it is, in JSON of one level or two, percent-encoded or in base64 with a neighbour."""
    secrets = knowing(key)
    escaped = "".join(f"\\u{ord(char):04x}" for char in key)
    for form in (
        key,
        json.dumps(key)[1:-1],
        json.dumps(json.dumps(key)[1:-1])[1:-1],
        escaped,
        urllib.parse.quote(key),
        urllib.parse.quote(key, safe=""),
        urllib.parse.quote_plus(key),
    ):
        text = f"{before} {form} {after}"
        assert "[secret]" in secrets.scrub(text)
        raw = text.encode("utf-8", "surrogatepass")
        assert b"[secret]" in secrets.scrub_bytes(raw)
    for neighbour in ("", "a", "ab"):
        coded = base64.b64encode(f"{neighbour}{key}".encode()).decode()
        assert "[secret]" in secrets.scrub(coded)


@given(keys, others)
def test_other_texts_stay_as_they_are(key: str, text: str) -> None:
    """A text without the key comes back as the same object, so do a file's bytes."""
    assume(key not in text and "%" not in text and "\\" not in text)
    secrets = knowing(key)
    assert secrets.scrub(text) is text
    raw = text.encode("utf-8", "surrogatepass")
    assert secrets.scrub_bytes(raw) is raw


@given(keys, st.dictionaries(others.filter(str.isascii), others.filter(str.isascii)))
def test_json_stays_json(key: str, document: dict[str, str]) -> None:
    """JSON with a key in its texts is JSON without the key."""
    document["echo"] = f"<{key}>"
    raw = knowing(key).scrub_bytes(json.dumps(document).encode())
    assert key not in json.loads(raw)["echo"]
    assert "[secret]" in json.loads(raw)["echo"]


@pytest.mark.parametrize(
    "key",
    ["", "x", "none", "test", "EMPTY", "1234567", "123456789012", "xxxxxxxxxxxx", "anything",
     "Argument", "not-needed"],
)  # fmt: skip
def test_what_people_would_write_by_chance_is_no_secret(key: str) -> None:
    """Short keys, figures, a single word or a placeholder are masked nowhere."""
    assert not is_secret(key)
    assert knowing(key).scrub(f"a {key} b") == f"a {key} b"


@pytest.mark.parametrize(
    "key", [KEY, "sk-abcde", "correct horse battery", "aBcDeFgHiJ", "a" * 8 + "1b"]
)
def test_what_nobody_writes_by_chance_is_a_secret(key: str) -> None:
    """Eight characters are enough where they are neither a word nor figures."""
    assert is_secret(key)


def test_a_key_within_another_is_masked_with_it() -> None:
    """Of a key and a longer one that begins with it, the whole longer one goes."""
    assert knowing("sk-12345678", "sk-12345678-abcd").scrub("sk-12345678-abcd.") == "[secret]."


def test_keys_in_addresses() -> None:
    """A password, a name that stands alone and a parameter called like a key are secrets, a
    version is none."""
    found = credentials_in("https://me:pass-word-1@host/v1?api-version=2024-10-21&api_key=k-123456")
    assert [*found] == ["pass-word-1", "k-123456"]
    assert [*credentials_in("https://token-123@host")] == ["token-123"]
    assert [*credentials_in("http://[broken")] == []


def test_the_keys_of_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy's password is known as soon as a model is made."""
    monkeypatch.setenv("https_proxy", "http://me:proxy-pass-77@127.0.0.1:9")
    learn_proxies()
    assert SECRETS.scrub("via proxy-pass-77") == "via [secret]"


def test_no_error_holds_a_key() -> None:
    """Errors of the package and of its models are without known keys, whoever raises them."""
    SECRETS.learn(KEY)
    for error in (
        CallError(f"no {KEY}", kind="rejected"),
        ConfigurationError(f"no {KEY}"),
        InputError([Fault("f", f"no {KEY}", "a word")]),
    ):
        assert KEY not in str(error)
        assert "[secret]" in str(error)
