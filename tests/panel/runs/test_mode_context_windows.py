"""Requests that are too long for a model's context, refused before any call."""

from __future__ import annotations

import pytest

from persona_panel import InputError, Panel, Response
from persona_panel.graphs.deliberation import Deliberation
from persona_panel.personas import Persona
from persona_panel.testing import serving
from tests.helpers.embedded import PLAIN, READERS, stub

SHORT = Persona(id="short", label="Short", axis="length", description="You read.")
# About 3,000 tokens.
LONG = Persona(id="long", label="Long", axis="length", description="You read on. " * 920)
RESPONSES = [
    Response(id=f"r{i}", prompt="Why?", text=f"Because {i}.", system=f"s{i}") for i in range(2)
]


@pytest.mark.parametrize("personas", [[SHORT, LONG], [LONG, SHORT]])
@pytest.mark.parametrize("elicitation", ["holistic", "pairwise"])
def test_the_longest_persona_counts_wherever_it_stands(
    personas: list[Persona], elicitation: str
) -> None:
    """What does not fit with it is refused, in whichever order personas come; without it, or in a
    larger context, nothing is."""
    with serving() as server:
        small = stub(server, context_window=2_000)
        with pytest.raises(InputError, match="2,000, the context of openai:stub"):
            Panel(personas, small, PLAIN, elicitation=elicitation).score(RESPONSES)
        assert not server.calls
        for fits in (
            Panel([SHORT], small, PLAIN, elicitation=elicitation),
            Panel(personas, stub(server, context_window=6_000), PLAIN, elicitation=elicitation),
        ):
            fits.score(RESPONSES)
        assert server.calls


@pytest.mark.parametrize(("reveal", "window"), [("scores", 1_600), ("both", 6_000)])
def test_what_peers_say_counts_where_a_panel_deliberates(reveal: str, window: int) -> None:
    """Forty readers fit each by itself; with what is shown of thirty-nine others they do not."""
    crowd = [READERS[0].model_copy(update={"id": f"reader{n}"}) for n in range(40)]
    with serving() as server:
        small = stub(server, context_window=window)
        rules = Deliberation.model_validate({"rounds": 1, "reveal": reveal})
        panel = Panel(crowd, small, PLAIN, elicitation="justified", deliberation=rules)
        with pytest.raises(InputError, match="with the question and the peers' readings"):
            panel.score(RESPONSES)
        assert not server.calls
        Panel(crowd, small, PLAIN, elicitation="justified").score(RESPONSES[:1])
