"""The progress of a run in a notebook; in a kernel it is tried by the example's test."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from persona_panel.graphs import Judge, Judgment
from persona_panel.runs.executor import notebook_progress

JUDGE = Judge("ann", "m:one", "dimensions")


def judgment(status: Any, round_: int = 1) -> Judgment:
    scores = {"clarity": 3.0} if status == "scored" else {}
    return Judgment("p", "r", "elm", judge=JUDGE, status=status, scores=scores, round=round_)


def test_a_line_counts_judgments_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """First 0, then the last: each judgment once, whatever a deliberation changes later, with how
    many are missing; what is no judgment is not counted."""
    shown: list[Any] = []
    kernel = SimpleNamespace(
        kernel=object(), display_pub=SimpleNamespace(publish=lambda **given: shown.append(given))
    )
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: kernel))
    take = notebook_progress(2)
    for event in (judgment("scored"), judgment("scored", 2), "a verdict", judgment("refused")):
        take(event)
    first, last = shown
    assert first["data"]["text/plain"] == "0/2 judgments"
    assert last["data"]["text/plain"] == "2/2 judgments, 1 missing, in 0:00"
    assert (first["update"], last["update"]) == (False, True)
    assert first["transient"] == last["transient"]


def test_outside_of_a_notebook_nothing_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither in a script nor at IPython's own prompt."""
    for ipython in (None, SimpleNamespace(get_ipython=lambda: SimpleNamespace())):
        if ipython is not None:
            monkeypatch.setitem(sys.modules, "IPython", ipython)
        notebook_progress(1)(judgment("scored"))
    assert capsys.readouterr() == ("", "")
