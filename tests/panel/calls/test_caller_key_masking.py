"""Keys that a model gives back in its answer: `persona_panel.calls.caller`."""

from __future__ import annotations

from dataclasses import asdict

from persona_panel.calls.caller import without_keys
from persona_panel.files.secrets import SECRETS
from persona_panel.rubrics import ModelResponse, Position, Usage

KEY = "canary-7b2c+Wp/9876543210"


def test_a_key_in_tokens_is_one_token_without_alternatives() -> None:
    """Where an answer comes with log-probabilities, the tokens of a key become one mask, and all
    the others stay; text and tokens say the same still."""
    SECRETS.learn(KEY)
    tokens = ["It", " is ", "8", ". ", *(KEY[i : i + 3] for i in range(0, len(KEY), 3)), " end"]
    reply = ModelResponse(
        text="".join(tokens),
        logprobs=tuple(Position(token, ((token, -0.1),)) for token in tokens),
    )
    clean = without_keys(reply, "openai:a")
    assert clean.text == "It is 8. [secret] end"
    assert "".join(one.token for one in clean.logprobs) == clean.text
    assert clean.logprobs[2] == Position("8", (("8", -0.1),))
    assert clean.logprobs[4] == Position("[secret]", ())


def test_a_reply_without_keys_stays_as_it_is() -> None:
    """Every field is handed on where there is nothing to mask, and the model is noted."""
    logprobs = (Position("8", (("8", -0.1),)),)
    reply = ModelResponse("8", "length", "no", logprobs, Usage(1, output=2), 0.5, cached=True)
    clean = without_keys(reply, "openai:a")
    assert asdict(clean) == asdict(reply) | {"model": "openai:a"}


def test_keys_are_masked_wherever_an_answer_has_them() -> None:
    """In the text, in a refusal and in why it ended."""
    SECRETS.learn(KEY)
    reply = ModelResponse(f"I: {KEY}", finish_reason=KEY, refusal=f"No {KEY}.")
    clean = without_keys(reply, "openai:a")
    assert clean == ModelResponse("I: [secret]", finish_reason="[secret]", refusal="No [secret].")
