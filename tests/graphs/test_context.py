"""The context of the graphs."""

from __future__ import annotations

from persona_panel.graphs import Judge
from persona_panel.graphs.context import groups_of


def test_groups_of_judges() -> None:
    """Judges go together by their model, in the order of the panel, or each by itself."""
    ann, bob, cid = (
        Judge(name, model, "dimensions")
        for name, model in zip("abc", ("m1", "m2", "m1"), strict=True)
    )
    assert groups_of([ann, bob, cid], each=False) == [(ann, cid), (bob,)]
    assert groups_of([ann, bob, cid], each=True) == [(ann,), (bob,), (cid,)]
    assert groups_of([], each=False) == []
