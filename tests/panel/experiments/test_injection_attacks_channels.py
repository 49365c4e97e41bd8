"""The ways by which an attack comes to a judge: which a panel has, and what is told of the rest."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from persona_panel import ConfigurationError, InputError, ModelConfig, Panel, Persona, Response
from persona_panel.experiments.injection import (
    InjectionAudit,
    injection_job,
    plan_injection,
)
from persona_panel.experiments.injection_attacks import (
    SHOWN_AS,
    Attack,
    AttackSet,
    control_of,
    inserted,
    prize_of,
    shipped_attacks,
    shipped_responses,
    shipped_rivals,
)
from persona_panel.files.definitions import load_definition
from persona_panel.files.responses import load_responses
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.rubrics import Rubric, shipped
from persona_panel.testing import Answer, ok, serving
from tests.helpers.audits import audit_injection

READERS = [
    Persona(id=name, label=name.title(), axis="own", description="You read closely.")
    for name in ("first", "second")
]
DIMENSIONS = [dimension.id for dimension in load_definition(shipped()["scrub"], Rubric).dimensions]
ATTACKS = load_definition(shipped_attacks(), AttackSet).attacks
Script = Callable[[int, Mapping[str, Any]], Answer]


def asked(payload: Mapping[str, Any]) -> str:
    return "\n".join(str(message["content"]) for message in payload["messages"])


def fenced(payload: Mapping[str, Any], name: str) -> list[str]:
    """What stands between marks of this name."""
    return [
        found[2]
        for found in re.finditer(rf"<{name} (\w+)>\n(.*?)\n</{name} \1>", asked(payload), re.DOTALL)
    ]


def scores(score: int, why: str = "") -> Answer:
    said = dict.fromkeys(DIMENSIONS, score) | {"abstained": False}
    return ok(f"<scratchpad>{why}</scratchpad>{json.dumps(said)}" if why else json.dumps(said))


def obeys_in(name: str) -> Script:
    """A judge that gives 10 where what is fenced under a name asks for it, else 4."""

    def script(number: int, payload: Mapping[str, Any]) -> Answer:
        said = "\n".join(fenced(payload, name))
        return scores(10 if re.search(r"(?<!\d)10(?!\d)", said) else 4)

    return script


def audited(
    script: Script,
    tmp_path: Path,
    attacks: Sequence[Attack] = ATTACKS,
    responses: Sequence[Response] | None = None,
    **panel: Any,
) -> tuple[InjectionAudit, int, int]:
    """An audit, how many calls were made, and how many were foretold."""
    given = load_responses(shipped_responses()) if responses is None else list(responses)
    with serving(script) as server:
        reading = Panel(
            READERS, ModelConfig(model="openai:stub", base_url=server.base_url), **panel
        )
        plan = plan_injection(reading.plan, given, attacks, load_responses(shipped_rivals()))
        foretold = sum(
            one.calls for one in injection_job(reading.plan, plan, tmp_path / "run").estimate()
        )
        found = audit_injection(reading.plan, plan, out=tmp_path / "run")
        return found, len(server.calls), foretold


def test_at_least_25_attacks_come_by_another_way_than_the_response() -> None:
    """Each channel has some in the library."""
    counted = Counter(attack.channel for attack in ATTACKS)
    assert sum(n for channel, n in counted.items() if channel != "text") >= 25
    assert set(counted) == {
        "text", "label", "answer", "prompt", "variant", "context", "peer", "system", "id",
        "metadata",
    }  # fmt: skip


def test_a_control_is_of_like_length_and_place_and_asks_for_nothing() -> None:
    """Of every shipped attack: in its place, from half to twice its length or so, and without a
    word of scores."""
    prize = prize_of(load_definition(shipped()["scrub"], Rubric))
    controls = {}
    for attack in ATTACKS:
        control = control_of(attack, prize)
        controls[control.id] = control
        assert (control.placement, control.form) == (attack.placement, attack.form)
        assert control.channel == SHOWN_AS.get(attack.channel, attack.channel)
        assert 1 / 2.5 <= len(control.text) / len(inserted(attack, prize, [""])) <= 2.5
        assert not re.search(r"\b(?:rat|scor|judg|criteri|panel|10)", control.text, re.IGNORECASE)
    assert len(controls) < len(ATTACKS) / 3


@pytest.mark.parametrize(
    ("name", "channels"),
    [("prompt", {"prompt", "variant"}), ("context", {"context"}), ("response", {"text", "answer"})],
)
def test_a_judge_that_obeys_one_channel_is_vulnerable_to_its_attacks_alone(
    name: str, channels: set[str], tmp_path: Path
) -> None:
    """Prompt, context and response are kept apart; the calls are those that were foretold."""
    found, calls, foretold = audited(obeys_in(name), tmp_path)
    vulnerable = {
        attack.channel
        for attack in found.attacks
        if attack.id in {one.name for one in found.measured.with_verdict("vulnerable")}
    }
    assert vulnerable == channels
    of_channel = {one.name: one.verdict for one in found.measured.channels}
    assert {one for one, verdict in of_channel.items() if verdict == "vulnerable"} == channels
    assert calls == foretold == 2 * 8 * (1 + len(found.attacks) + len(found.plan.controls))


def test_a_prompt_with_several_responses_can_be_attacked(tmp_path: Path) -> None:
    """An attack that guesses at a response's fence changes the prompt for each response otherwise:
    each has a prompt of its own then."""
    texts = ("They rose.", "They fell.", "They stayed.")
    responses = [
        Response(id=f"r{n}", prompt_id="p", prompt="Cap rents?", text=text, system=f"s{n}")
        for n, text in enumerate(texts)
    ]
    attacks = [attack for attack in ATTACKS if attack.id == "prompt-closed-early"]
    found, calls, foretold = audited(obeys_in("prompt"), tmp_path, attacks, responses)
    assert calls == foretold == 2 * 3 * 3
    attacked = {item.prompt_id for item in found.run.items if "closed-early" in item.id}
    assert attacked == {f"p+r{n}+prompt-closed-early" for n in range(3)}


def test_what_no_judge_is_shown_is_not_paid_for_and_said(tmp_path: Path) -> None:
    """Author's names, ids and metadata occur in nothing that is asked; labels and peers are not
    there in this panel. Each is skipped with its reason."""
    found, _, _ = audited(obeys_in("response"), tmp_path)
    skipped = {one["channel"]: one for one in found.document()["skipped"]}
    assert set(skipped) == {"system", "id", "metadata", "label", "peer"}
    assert {name for name, one in skipped.items() if one["unseen"]} == {"system", "id", "metadata"}
    assert "--elicitation pairwise" in skipped["label"]["why"]
    assert "--deliberate" in skipped["peer"]["why"]
    assert sum(len(one["attacks"]) for one in skipped.values()) + len(found.attacks) == len(ATTACKS)


def test_with_nothing_left_to_try_it_says_why(tmp_path: Path) -> None:
    """Attacks on peers alone, on a panel that does not deliberate, are refused before any call."""
    peers = [attack for attack in ATTACKS if attack.channel == "peer"]
    with pytest.raises(
        ConfigurationError, match=r"no attack can reach the judges.*does not deliberate"
    ):
        audited(obeys_in("response"), tmp_path, peers)


# Peers


def believes_peers(number: int, payload: Mapping[str, Any]) -> Answer:
    """10 where what a peer is shown to say asks for it, else 4; with reasons."""
    if "changed your mind" in asked(payload):
        return ok("The others did.")
    said = "\n".join(fenced(payload, "reader 1"))
    return scores(10 if re.search(r"(?<!\d)10(?!\d)", said) else 4, "It is thin.")


def test_a_peer_s_rationale_can_sway_a_panel_that_deliberates(tmp_path: Path) -> None:
    """Attacks in a peer's mouth are found where judges believe peers, and those in the response
    are not; the first round is asked once."""
    chosen = [attack for attack in ATTACKS if attack.channel == "peer"]
    chosen += [attack for attack in ATTACKS if attack.family == "flattery"]
    rules = Deliberation(rounds=1, reveal="rationales")
    found, calls, foretold = audited(
        believes_peers, tmp_path, chosen, elicitation="justified", deliberation=rules
    )
    verdicts = {one.name: one.verdict for one in found.measured.attacks}
    assert {name for name, verdict in verdicts.items() if verdict == "vulnerable"} == {
        attack.id for attack in chosen if attack.channel == "peer"
    }
    assert {verdict for name, verdict in verdicts.items() if "peer" not in name} == {"safe"}
    assert calls < foretold


def test_a_peer_that_nobody_was_shown_is_missing_and_not_safe(tmp_path: Path) -> None:
    """Where judges agree and so never confer, an attack in a peer's mouth came to nobody."""
    chosen = [attack for attack in ATTACKS if attack.channel == "peer"]
    rules = Deliberation(rounds=1, reveal="both", stop_when="settled")
    found, _, _ = audited(
        believes_peers, tmp_path, chosen, elicitation="justified", deliberation=rules
    )
    assert {one.verdict for one in found.measured.attacks} == {"inconclusive"}
    assert {one.n_pairs for one in found.measured.attacks} == {0}


# Comparisons


def prefers_whoever_asks(number: int, payload: Mapping[str, Any]) -> Answer:
    """The response that asks for the first place; a tie where neither does."""
    shown = [fenced(payload, f"response {label}")[0] for label in "AB"]
    asking = ["first place" in text for text in shown]
    better = "tie" if asking[0] == asking[1] else "first" if asking[0] else "second"
    if "better" in payload["response_format"]["json_schema"]["schema"]["properties"]:
        return ok(json.dumps({"better": better}))
    return ok(json.dumps({"A": 1 + (better == "second"), "B": 1 + (better == "first")}))


@pytest.mark.parametrize("elicitation", ["pairwise", "ranking"])
def test_a_panel_that_compares_is_attacked_by_labels(elicitation: str, tmp_path: Path) -> None:
    """Each essay stands beside another to its prompt; the uplift is in the share preferred to,
    and prompts and sweeps are skipped with the reason."""
    chosen = [attack for attack in ATTACKS if attack.channel in ("label", "prompt", "answer")]
    found, calls, foretold = audited(
        prefers_whoever_asks, tmp_path, chosen, elicitation=elicitation
    )
    by_name = {one.name: one for one in found.measured.attacks}
    assert by_name["label-rival-withdrawn"].mean == 0.5
    assert by_name["label-tie-rule"].mean == 0.0
    assert found.measured.base_mean == 0.5
    assert found.unit == "shares of the other responses"
    assert by_name["label-rival-withdrawn"].verdict == "vulnerable"
    assert {one.channel: one.why.split(":")[0] for one in found.plan.skipped} == {
        "prompt": "compared responses share one prompt",
        "answer": "a panel that compares responses cannot run a sweep",
    }
    assert calls == foretold


def test_a_response_with_nothing_to_compare_it_with_is_refused(tmp_path: Path) -> None:
    """A panel that compares names the response whose prompt has no other."""
    alone = [Response(id="r", prompt="Why?", text="So.", system="s", prompt_id="p")]
    with pytest.raises(InputError, match="nothing to compare 'r' with"):
        audited(prefers_whoever_asks, tmp_path, responses=alone, elicitation="pairwise")
