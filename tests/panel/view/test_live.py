"""A run that another process writes, as it is shown while it goes on, once it is killed, and when
it goes on again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from persona_panel.files import judgments
from persona_panel.view import lines
from tests.helpers.viewed import JUDGES, JUDGMENTS, PROMPTS, LiveBatch, viewing


def fields(event: dict[str, Any], name: str = "run") -> dict[str, str]:
    """The texts of a run among what was event."""
    texts: dict[str, str] = event["runs"].get(name, {}).get("fields", {})
    return texts


def test_a_run_is_shown_as_it_goes_on_is_killed_and_goes_on(tmp_path: Path) -> None:
    """Done of all, cost against the cap, and systems so far with intervals; killed, it is shown as
    stopped with its command; that goes on with it, and at the end its figures are the summary's."""
    runs, calls = tmp_path / "runs", JUDGMENTS // 2
    batch = LiveBatch(tmp_path / "batch", calls)
    with batch.serving(), viewing(tmp_path) as viewed:
        process = batch.begin(runs / "run", "--max-usd", "1000000")
        # What waits for a whole response is not written yet.
        event = viewed.until(
            lambda event: event["runs"].get("runs%2Frun", {}).get("done", 0) >= calls - 4 * JUDGES
        )
        now = event["runs"]["runs%2Frun"]
        assert (now["state"], now["total"]) == ("running", JUDGMENTS)
        texts = now["fields"]
        assert texts["progress"] == f"{now['done']:,} of {JUDGMENTS:,} judgments"
        assert texts["cost"].startswith("$")
        assert texts["cost"].endswith(" of at most $1,000,000.00")
        assert now["prompts"].startswith(tuple(f"{n} of {PROMPTS}" for n in (1, 2, 3)))
        assert [system["interval"] != "" for system in now["systems"]] == [True] * 4
        page = viewed.get().text
        assert "no claim is made before the run ends" in page
        assert '<span class="state">Running</span>' in page
        assert viewed.get("run/runs%2Frun/report.html").headers["Location"].endswith("run/")

        process.kill()
        process.wait(10)
        stopped = viewed.until(
            lambda event: event["runs"]["runs%2Frun"]["state"] == "stopped",
            "run/runs%2Frun/events",
        )
        assert stopped["version"] == "stopped"
        page = viewed.get("run/runs%2Frun/").text
        assert "no process is seen to go on with it" in page
        command = json.loads((runs / "run" / "run.json").read_text())["starts"][-1]["command"]
        assert f'<pre tabindex="0">{command}</pre>' in page
        assert "Stopped before its end" in viewed.get().text
        # The page of what there is.
        assert viewed.get("run/runs%2Frun/report.html").status == 200

        batch.let = True
        assert batch.begin(runs / "run", "--max-usd", "1000000").wait(60) == 0
        viewed.until(lambda event: event["version"] == "ended", "run/runs%2Frun/events")
        assert '<tr class="ended">' in viewed.get().text


def test_what_is_missing_is_shown_by_model_and_reason(tmp_path: Path) -> None:
    """How many judgments, of which model, in which way, and the commonest words."""
    batch = LiveBatch(tmp_path / "batch", 80, fails_from=40)
    with batch.serving(), viewing(tmp_path) as viewed:
        process = batch.begin(tmp_path / "run")
        event = viewed.until(lambda event: fields(event).get("missing", "") != "")
        process.kill()
        process.wait(10)
    texts = fields(event)
    assert texts["missing"].endswith(" missing")
    assert texts["reason-0-model"] == "openai:stub"
    assert texts["reason-0-count"] == f"{texts['missing'].removesuffix(' missing')} unparsed"
    assert texts["reason-0-error"] != ""
    assert texts["reason-1-model"] == ""


def test_a_run_without_a_lock_goes_on_while_its_files_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of another machine on a shared disk, whose lock is in no list here."""
    monkeypatch.setattr(judgments, "_LOCKS", tmp_path / "absent")
    run = tmp_path / "run"
    run.mkdir()
    (run / "judgments.jsonl").write_text("")
    watched = lines.Writers()
    assert not watched.lock(run)
    assert watched.may_write(run)
    monkeypatch.setattr(lines, "QUIET_S", 0.0)
    assert not watched.may_write(run)


def test_a_lock_is_seen_and_never_taken(tmp_path: Path) -> None:
    """A run starts beside `view` whenever it likes, and is seen from then on."""
    batch = LiveBatch(tmp_path / "batch", 8)
    with batch.serving():
        process = batch.begin(tmp_path / "run")
        watched = lines.Writers()
        while not watched.lock(tmp_path / "run"):
            assert process.poll() is None
            watched.refresh()
        process.kill()
        process.wait(10)
        watched.refresh()
        assert not watched.lock(tmp_path / "run")
