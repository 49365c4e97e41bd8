"""`persona-panel keypoints`, and the functions that it calls, against a real server."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from persona_panel import ModelConfig, Panel, Response
from persona_panel.calls.budget import Caps
from persona_panel.cli.main import command as cli
from persona_panel.experiments.key_point_steps import KeyPoints
from persona_panel.experiments.key_points import (
    key_points_document,
    key_points_result,
    rationales_of,
)
from persona_panel.files.errors import ConfigurationError, RunStopped
from persona_panel.files.outputs import as_json
from persona_panel.reports.page.report import report_of
from persona_panel.testing import Answer, always, ok, serving

CLEAR, VAGUE = "It is clear.", "It is vague."


def judge(_: int, payload: Mapping[str, Any]) -> Answer:
    """Calls texts of system `good` clear, and every text vague."""
    said = payload["messages"][-1]["content"]
    reasons = f"{CLEAR} {VAGUE}" if "well said" in said else VAGUE
    return ok(f'<scratchpad>{reasons}</scratchpad>{{"good_opening": 3, "abstained": false}}')


def reader(_: int, payload: Mapping[str, Any]) -> Answer:
    """States each sentence as a point, and one that nobody said."""
    said = payload["messages"][-1]["content"]
    found = re.search(r"<reasons \w+>\n(.*?)\n</reasons", said, re.S)
    assert found is not None, said
    points = [
        {"quote": one, "point": one, "stance": "pro" if one == CLEAR else "con"}
        for one in (CLEAR, VAGUE)
        if one in found[1]
    ]
    points.append({"quote": "It is long.", "point": "It is long.", "stance": "con"})
    return ok(json.dumps({"points": points}))


def texts() -> list[Response]:
    """Two systems on 12 prompts; `good` is said well but on the last two."""
    return [
        Response(
            id=system,
            prompt_id=f"p{n}",
            prompt=f"Topic {n}",
            system=system,
            text=f"On {n} it was {'well' if system == 'good' and n < 10 else 'ill'} said.",
        )
        for n in range(12)
        for system in ("good", "bad")
    ]


def test_key_points_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An estimate calls nothing, a requirement on what cannot be is refused before the first call,
    and a cap stops the command before anything is written; the same command goes on, prints shares
    by system with the difference that is significant, and writes them into the folder. The page
    shows them until the run has other rationales, and a run without rationales is refused."""
    folder = tmp_path / "run"
    with serving(judge) as server:
        judging = ModelConfig(
            model="openai:judge", base_url=server.base_url, elicitation="justified"
        )
        panel = Panel(personas="disciplinary", models=[judging], rubric="debate-speech")
        run = panel.score(texts(), out=folder)
    written = folder / "keypoints.json"
    with serving(reader) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        reading = ModelConfig(model="openai:reader")
        job = KeyPoints([one.text for one in rationales_of(run)], reading, 10)
        # Two different rationales; what they say is not known yet.
        assert sum(one.calls for one in job.estimate()) >= 2
        assert not server.calls
        with pytest.raises(RunStopped, match="same command asks only what is missing"):
            asyncio.run(job.run(Caps(calls=1)))
        assert len(server.calls) == 1
        assert sum(one.calls for one in job.estimate()) >= 1
        for wrong in (
            f'key_point_shares["{CLEAR}"] > 0.4', f'system_share[goood, "{CLEAR}"] > 0.4',
            "pro_share_by_system[nobody] > 0.5", f'system_difference[good, ugly, "{CLEAR}"] < 0',
        ):  # fmt: skip
            given = ["keypoints", str(folder), "--model", "openai:reader", "--require", wrong]
            refused = CliRunner().invoke(cli, given)
            assert (refused.exit_code, len(server.calls)) == (2, 1), refused.output
        monkeypatch.setenv("COLUMNS", "80")
        # In this process: another would share its cache.
        cli.main(["keypoints", str(folder), "--model", "openai:reader"], standalone_mode=False)
        printed = capsys.readouterr().out
        assert len(server.calls) == 2
        for requirement, status in (
            (f'system_share[good, "{CLEAR}"] > 0.4', 0),
            (f'key_point_share["{VAGUE}"] <= 0.5', 3),
            (f'system_difference[bad, good, "{CLEAR}"] < 0', 0),
        ):
            given = ["keypoints", str(folder), "--model", "openai:reader", "--json"]
            done = CliRunner().invoke(cli, [*given, "--require", requirement])
            assert done.exit_code == status, done.output
        assert json.loads(done.stdout)["tables"]["rationales"][0]["points_dropped"] == 120
        assert len(server.calls) == 2
        assert sum(one.calls for one in job.estimate()) == 0
        # All of it is in the cache.
        summed_up = asyncio.run(job.run(Caps(calls=1)))
        counted = key_points_document(rationales_of(run), summed_up, reading.id)
    assert max(map(len, printed.splitlines())) <= 80
    said = " ".join(printed.split())
    # 10 of 12 texts of `good` by 5 judges; 10/12 is the difference, too.
    assert "for a text: It is clear (50 of 120 rationales" in said
    assert "120 of 290 points were dropped" in said
    assert "Of good judges say more often than of bad: It is clear (83 percentage" in said
    whole = written.read_bytes()
    with serving(reader) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        # A part of the rationales is shown, and does not take the place of the whole.
        few = ["keypoints", str(folder), "--model", "openai:reader", "--limit", "1"]
        cli.main(few, standalone_mode=False)
    assert "--limit leaves some out" in capsys.readouterr().err
    assert written.read_bytes() == whole
    document = json.loads(whole)
    assert document == json.loads(as_json(counted))
    shared = key_points_result(document)["shares"]
    rows = {(row["by"], row["group"], row["key_point"]): row for row in shared.rows}
    assert rows["system", "good", CLEAR]["share"].value == round(10 / 12, 6)
    shares = {(one["group"], one["key_point"]): one for one in document["shares"]["system"]}
    assert shares["good", CLEAR]["share"] == round(10 / 12, 6)
    assert (shares["bad", CLEAR]["n"], shares["bad", VAGUE]["n"]) == (0, 60)
    assert {one["quote"] for one in document["key_points"][0]["quotations"]} == {CLEAR}
    page = report_of(run)._repr_html_()
    assert "Key points of the judges’ reasons" in page
    assert "have changed since" not in page
    judgments = folder / "judgments.jsonl"
    judgments.write_text(judgments.read_text().replace(CLEAR, "It is other."))
    assert "have changed since" in report_of(run)._repr_html_()
    judgments.write_text(re.sub(r'"rationale":"[^"]*"', '"rationale":null', judgments.read_text()))
    with pytest.raises(ConfigurationError, match="--elicitation justified"):
        rationales_of(run)


def test_rationales_in_which_no_point_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reasons without any word have no key points: the command says so, and the page shows it."""
    folder = tmp_path / "run"
    said = ok('<scratchpad>…</scratchpad>{"good_opening": 3, "abstained": false}')
    with serving(always(said)) as server:
        judging = ModelConfig(
            model="openai:judge", base_url=server.base_url, elicitation="justified"
        )
        Panel("disciplinary", judging, "debate-speech").score(texts()[:4], out=folder)
    with serving(always(ok('{"points": []}'))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        cli.main(["keypoints", str(folder), "--model", "openai:reader"], standalone_mode=False)
    assert "No key points were found" in capsys.readouterr().out
    assert json.loads((folder / "keypoints.json").read_bytes())["differences"] == []
