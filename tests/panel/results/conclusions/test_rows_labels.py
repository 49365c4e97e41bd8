"""Labels of dimensions in place of their ids."""

from __future__ import annotations

from persona_panel.results.conclusions.rows import called_by


def test_a_label_stands_for_an_id_where_it_is_clear() -> None:
    """Not where two dimensions have it, nor where results or another dimension are called so."""
    called = called_by({
        "depth": "Depth of it", "clarity": "clarity", "a": "Same", "b": "Same", "c": "composite",
        "d": "all", "e": "depth", "all": "Everything",
    })  # fmt: skip
    names = [*"abcde", "depth", "clarity", "all", "other"]
    assert [called(name) for name in names] == [
        *"abcde", "Depth of it", "clarity", "all", "other",
    ]  # fmt: skip
