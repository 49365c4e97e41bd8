"""Every elicitation through a panel: on a local server, and on the embedded model."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from persona_panel import (
    ConfigurationError,
    InputError,
    Judgment,
    ModelConfig,
    Panel,
    Response,
    Rubric,
    Scale,
    load_ratings,
)
from persona_panel.analyses.run_summary import run_summary
from persona_panel.analyses.score import score_result
from persona_panel.testing import Answer, Script, always, ok, serving
from tests.helpers.embedded import PLAIN, READERS, needs_the_model, stub

RESPONSES = [Response(id="r", prompt="What is a library?", text="It lends books.", system="s")]
SHORT = Rubric(
    id="short",
    label="Short",
    question="How plain is it?",
    dimensions=(
        PLAIN.dimensions[0].model_copy(
            update={"scale": Scale(min=1, max=5, low="not", high="very")}
        ),
    ),
)


def weighed(*tokens: Mapping[str, float]) -> Answer:
    """An answer of these tokens with their probabilities."""
    logprobs = [{token: math.log(p) for token, p in shown.items()} for shown in tokens]
    return ok("".join(max(shown, key=shown.__getitem__) for shown in tokens), logprobs=logprobs)


OBJECT = weighed(
    {'{"clarity": ': 1.0},
    {"8": 0.5, "6": 0.4, "x": 0.1},
    {', "depth": ': 1.0},
    {"3": 1.0},
    {"}": 1.0},
)
ANSWERS: dict[str, tuple[Answer, dict[str, float]]] = {
    "dimensions": (ok('{"clarity": 8, "depth": 3}'), {"clarity": 8, "depth": 3}),
    "justified": (
        ok('<scratchpad>It lends.</scratchpad>{"clarity": 8, "depth": 3}'),
        {"clarity": 8, "depth": 3},
    ),
    "holistic": (ok("Score: 7/10"), {"overall": 7}),
    "unguided": (ok("**6**"), {"overall": 6}),
    # (8 · 0.5 + 6 · 0.4) / 0.9
    "expected": (OBJECT, {"clarity": 6.4 / 0.9, "depth": 3}),
    # 0.6 / 0.8
    "yes-no": (weighed({"Yes": 0.6, "No": 0.2, "So": 0.2}), {"clarity": 0.75, "depth": 0.75}),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_on_a_server(name: str, tmp_path: Path) -> None:
    """Each way of asking gives its dimensions from a served model, in the run and its files."""
    answer, scores = ANSWERS[name]
    heard: list[Judgment] = []
    with serving(always(answer)) as server:
        panel = Panel(READERS, stub(server), PLAIN, elicitation=name)
        run = panel.score(RESPONSES, out=tmp_path / "run", on_judgment=heard.append)
    assert run.coverage.complete
    assert run.dimensions == tuple(scores)
    assert run.ratings == pytest.approx(np.tile([*scores.values()], (1, 2, 1)))
    assert run.verdicts[0].composite == pytest.approx(np.mean([*scores.values()]))
    assert [judgment.rationale for judgment in heard] == (
        ["It lends.", "It lends."] if name == "justified" else [None, None]
    )
    # What reads log-probabilities has one more call, which finds out whether there are any.
    assert run.calls.made == {"expected": 3, "yes-no": 5}.get(name, 2)
    again = load_ratings(tmp_path / "run")
    assert set(again.dimensions) == set(scores)
    header = (tmp_path / "run" / "verdicts.csv").read_text().splitlines()[0].split(",")
    assert [name.removesuffix("_mean") for name in header if name.endswith("_mean")] == [*scores]


@needs_the_model
@pytest.mark.parametrize("name", ANSWERS)
def test_on_the_embedded_model(name: str) -> None:
    """Each way of asking runs in this process; what reads probabilities always has a rating, and
    what the small model writes is a rating on the scale or has its reason."""
    run = Panel(READERS[:1], "local:smollm2-135m", SHORT, elicitation=name).score(RESPONSES)
    (status,) = run.statuses[0]
    assert status in {"scored", "unparsed", "refused"}
    if name in ("expected", "yes-no"):
        assert status == "scored"
    low, high = (0, 1) if name == "yes-no" else (1, 5)
    output_rubric = run.ratings[~np.isnan(run.ratings)]
    assert (len(output_rubric) == 1) == (status == "scored")
    assert ((low <= output_rubric) & (output_rubric <= high)).all()


@needs_the_model
def test_the_embedded_model_is_asked_apart() -> None:
    """In this process `expected` takes a call for each dimension and one for the abstention."""
    heard: list[Judgment] = []
    panel = Panel(READERS[:1], "local:smollm2-135m", "scrub")
    run = panel.score(RESPONSES, on_judgment=heard.append)
    assert run.judges[0].elicitation == "expected"
    assert run.calls.made >= 6
    assert set(heard[0].off_scale) == {*run.dimensions, "abstained"}


def test_models_that_rate_differently_are_refused() -> None:
    """A panel whose models rate other dimensions, or on other scales, is refused before a call."""
    with serving() as server:
        one = stub(server, model="openai:one", elicitation="holistic")
        two = stub(server, model="openai:two", elicitation="dimensions")
        three = stub(server, model="openai:three", elicitation="yes-no")
        with pytest.raises(ConfigurationError) as refused:
            Panel(READERS, [one, two], PLAIN)
        with pytest.raises(ConfigurationError, match="from 0 to 1"):
            Panel(READERS, [two, three], PLAIN)
    said = str(refused.value)
    assert "openai:one by 'holistic', which rates overall from 1 to 10" in said
    assert "openai:two by 'dimensions', which rates clarity, depth from 1 to 10" in said
    assert server.calls == []


def test_models_that_rate_alike_sit_together() -> None:
    """Elicitations may be mixed where they rate the same dimensions on the same scales."""
    with serving(always(ok("7"))) as server:
        one = stub(server, model="openai:one", elicitation="holistic")
        two = stub(server, model="openai:two", elicitation="unguided")
        run = Panel(READERS, [one, two], PLAIN).score(RESPONSES)
    assert run.ratings.shape == (1, 4, 1)
    assert run.verdicts[0].composite == 7


def test_what_an_elicitation_cannot_serve_is_refused() -> None:
    """Which one, and why, is said before any call."""
    with serving() as server:
        for name, rubric, why in (
            ("yes-no", "critical-question", "no category of usefulness"),
            ("holistic", "critical-question", "every dimension of the rubric has categories"),
        ):
            with pytest.raises(ConfigurationError, match=why) as refused:
                Panel(READERS, stub(server), rubric, elicitation=name)
            assert repr(name) in str(refused.value)
    assert server.calls == []


# Replicates


def by_number() -> Script:
    """Another pair of ratings for each call."""
    return lambda number, payload: ok(json.dumps({"clarity": number % 10 + 1, "depth": 1}))


def test_replicates_are_annotators_of_their_own(tmp_path: Path) -> None:
    """k replicates are k judges with their own answers, kept apart in the cache."""
    with serving(by_number()) as server:
        panel = Panel(READERS, stub(server, temperature=1), PLAIN, replicates=3)
        run = panel.score(RESPONSES, out=tmp_path / "run")
        assert [judge.id for judge in run.judges[:3]] == [
            f"librarian|openai:stub|dimensions|{k}" for k in (1, 2, 3)
        ]
        assert sorted(run.ratings[0, :, 0]) == [1, 2, 3, 4, 5, 6]
        assert run.verdicts[0].n_judges == 6
        (told,) = panel.estimate(RESPONSES)
        assert (told.judgments, told.of) == (0, 6)
        again = panel.score(RESPONSES)
        assert (again.calls.made, again.calls.cached) == (0, 6)
        assert again.ratings == pytest.approx(run.ratings)
        # A further one is all that is asked for.
        more = Panel(READERS, stub(server, temperature=1), PLAIN, replicates=4)
        assert more.estimate(RESPONSES)[0].judgments == 2
    assert json.loads((tmp_path / "run" / "run.json").read_text())["replicates"] == 3


@needs_the_model
def test_a_model_that_repeats_itself_has_no_replicates() -> None:
    """At temperature 0, or where probabilities are read, k answers would be one counted k times."""
    config = ModelConfig(model="local:smollm2-135m")
    for seated, name in (
        (config, "dimensions"),
        (config, "expected"),
        (config.model_copy(update={"temperature": 1.0}), "yes-no"),
    ):
        with pytest.raises(ConfigurationError, match="same answer every time"):
            Panel(READERS, seated, SHORT, elicitation=name, replicates=2)
    warm = config.model_copy(update={"temperature": 1.0})
    assert len(Panel(READERS, warm, SHORT, elicitation="holistic", replicates=2).judges) == 4


def test_replicates_in_a_panel_file(tmp_path: Path) -> None:
    """A panel file says how often each judge is asked; less than once is refused."""
    file = tmp_path / "panel.yaml"
    text = "replicates: {}\nmodels: [{{model: 'openai:m', base_url: 'http://127.0.0.1:9/v1'}}]\n"
    file.write_text(text.format(2))
    assert len(Panel.from_file(file).judges) == 20
    file.write_text(text.format(0))
    with pytest.raises(InputError, match="replicates"):
        Panel.from_file(file)
    with pytest.raises(ConfigurationError, match="replicates: found 0; expected a number of 1"):
        Panel(replicates=0)


@pytest.mark.parametrize(("on_scale", "warned"), [(0.02, True), (0.9, False)])
def test_probability_off_the_scale_is_told(on_scale: float, warned: bool) -> None:
    """Where most of a model's probability lies on no value of the scale, the summary holds how
    much, and the terminal warns that the scores rest on the rest."""
    answer = weighed({"yes": on_scale / 2, "no": on_scale / 2, "x": 1 - on_scale})
    with serving(always(answer)) as server:
        model = ModelConfig(model="openai:stub", base_url=server.base_url)
        run = Panel(READERS, model, PLAIN, elicitation="yes-no").score(RESPONSES)
    assert run_summary(run)["off_scale"] == {"openai:stub": pytest.approx(1 - on_scale)}
    assert ("lay on no value of the scale" in score_result(run).text()) == warned


_A_FILE = r"expected Responses, a data frame, .*; load_responses\(FILE\) reads a file"
_NO_RESPONSE = [
    ("essays.csv", _A_FILE),
    (Path("essays.csv"), _A_FILE),
    ([{"id": "1"}], r"row 1: response: found no such field, only 'id'; expected 'response'"),
    (["text"], r"found 'text'; expected a Response; load_responses makes them of a file"),
]


@pytest.mark.parametrize(("odd", "says"), _NO_RESPONSE)
def test_what_is_no_response_is_refused(odd: Any, says: str) -> None:
    """A path or rows without a response are refused with what is expected instead."""
    with serving() as server:
        panel = Panel(READERS, ModelConfig(model="openai:stub", base_url=server.base_url), PLAIN)
        for use in (panel.score, panel.estimate):
            with pytest.raises(InputError, match=says):
                use(odd)
        assert server.calls == []
