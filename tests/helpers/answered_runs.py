"""Six runs whose answers to the five questions are known: who is better is written in the texts,
and a scripted model reads it there, with the leaning of its persona and noise."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from persona_panel import Panel, Ratings, Response, Run, load_ratings
from persona_panel.models.client import CallError
from persona_panel.models.completions import body_of
from persona_panel.rubrics import ModelRequest
from persona_panel.testing import ScriptedModel

_MARK = re.compile(r"\[quality (-?[\d.]+), for the panel (-?[\d.]+)]")


@dataclass(frozen=True)
class Case:
    """What a run is made of: how good each system is on average, on a scale of 1 to 10.

    `panel` is what the judges add to a system that people do not; `persona` and `noise` are
    standard deviations. `per_word` is how much each word of a text's padding adds for the panel;
    `added` stands at the end of the text of a system's first response.
    """

    quality: Mapping[str, float]
    n_prompts: int = 24
    panel: Mapping[str, float] | None = None
    persona: float = 0.8
    noise: float = 0.7
    people: bool = False
    plain_judge: bool = False
    fails: bool = False
    per_word: float = 0.0
    added: Mapping[str, str] = field(default_factory=dict)


CASES = {
    "winner": Case({"ash": 7.2, "birch": 5.4, "cedar": 4.6}),
    "tie": Case({"ash": 6.0, "birch": 6.0, "cedar": 4.2}),
    "biased": Case(
        {"ash": 7.0, "birch": 5.6, "cedar": 4.6}, panel={"birch": 2.4}, people=True, n_prompts=30
    ),
    "no-personas": Case({"ash": 7.0, "birch": 5.4}, persona=0.0, plain_judge=True),
    "few": Case({"ash": 6.2, "birch": 5.8, "cedar": 5.5}, n_prompts=3),
    "failed": Case({"ash": 7.0, "birch": 5.0}, n_prompts=2, fails=True),
}
"""The cases, by name."""


def responses_of(case: Case) -> list[Response]:
    """The responses: each text says how good it is."""
    rng = np.random.default_rng(7)
    made, added = [], case.panel or {}
    for prompt in range(case.n_prompts):
        hardness = rng.normal(0, 0.5)
        for system, quality in case.quality.items():
            level = quality + hardness + rng.normal(0, 0.4)
            n_words = int(rng.integers(10, 200)) if case.per_word else 0
            judged = level + added.get(system, 0.0) + case.per_word * (n_words - 105)
            more = case.added.get(system, "") if prompt == 0 else ""
            made.append(
                Response(
                    id=f"{system}-{prompt}",
                    prompt_id=f"p{prompt}",
                    prompt=f"Should measure {prompt} be taken?",
                    text=f"An essay on measure {prompt}. [quality {level:.3f}, for the panel "
                    f"{judged:.3f}]{' word' * n_words}{more}",
                    system=system,
                )
            )
    return made


def _number(*parts: object) -> np.random.Generator:
    # A seed of all letters takes numpy a hundred times as long.
    digest = sha256("/".join(map(str, parts)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8]))


def model_of(case: Case) -> ScriptedModel:
    """A model that rates a text as it says, with its persona's leaning and noise."""
    asked: Counter[str] = Counter()

    def answer(request: ModelRequest) -> str | CallError:
        if case.fails:
            return CallError("the scripted model is out of order", kind="permanent")
        body = body_of(request)
        words = " ".join(str(message["content"]) for message in body["messages"])
        if "[no answer]" in words:
            return "I would rather not."
        found = _MARK.search(words)
        assert found is not None
        schema = body["response_format"]["json_schema"]["schema"]
        # A plain judge is asked the same several times.
        asked[words] += 1
        who = re.sub(r"An essay.*", "", words)
        leaning = _number("persona", who).normal(0, case.persona)
        scores: dict[str, Any] = {}
        for name, wanted in schema["properties"].items():
            if wanted.get("type") == "boolean":
                scores[name] = False
                continue
            noise = _number(name, words, asked[words]).normal(0, case.noise)
            level = float(found[2]) + leaning + noise
            scores[name] = int(np.clip(round(level), 1, 10))
        return orjson.dumps(scores).decode()

    return ScriptedModel(answer)


def answered_run(name: str, folder: Path) -> tuple[Run, Ratings | None]:
    """Score a case of `CASES` into a folder; with people's ratings of it, where it has them."""
    return scored_case(CASES[name], folder)


def scored_case(case: Case, folder: Path) -> tuple[Run, Ratings | None]:
    """Score a case into a folder; with people's ratings of it, where it has them."""
    responses = responses_of(case)
    panel = Panel("disciplinary", model_of(case), plain_judge=case.plain_judge)
    run = panel.score(responses, out=folder)
    if not case.people:
        return run, None
    rng = np.random.default_rng(11)
    lines = ["item,rater,score"]
    for response in responses[: 3 * 24]:
        found = _MARK.search(response.text)
        assert found is not None
        for rater in ("ada", "ben", "cyd", "dan"):
            score = int(np.clip(round(float(found[1]) + rng.normal(0, 0.8)), 1, 10))
            lines.append(f"{response.prompt_id}/{response.id},{rater},{score}")
    path = folder.with_suffix(".people.csv")
    path.write_text("\n".join(lines) + "\n")
    return run, load_ratings(path)


def translated_run(folder: Path, harsher: float, *, translated: bool = True) -> Run:
    """Score texts of two systems in English and German; judges take `harsher` from a German one.
    `translated`: whether texts name their originals, or have prompt and system in common."""
    case = Case({"ash": 6.4, "birch": 5.6}, n_prompts=24)
    texts = []
    for each in responses_of(case):
        level = float(each.text.split()[-1].rstrip("]"))
        texts.append(each.model_copy(update={"metadata": {"language": "en"}}))
        about = {"translation_of": f"{each.prompt_id}/{each.id}"} if translated else {}
        more, of = (" (DE)", "-de") if translated else ("", "")
        texts.append(
            Response(
                id=f"{each.id}-de",
                prompt=each.prompt + more,
                prompt_id=f"{each.prompt_id}{of}",
                system=each.system,
                text=f"An essay. [quality {level:.3f}, for the panel {level - harsher:.3f}]",
                metadata={"language": "de"} | about,
            )
        )
    return Panel("disciplinary", model_of(case)).score(texts, out=folder)
