"""Small files of the form that the example scripts read, made up here for their tests.

The columns are those of the public files; texts, people and ratings are invented, by rules that
leave no statistic without a value where the scripts print one.
"""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

_SPEECHES = (
    "Free buses fill up, and the roads empty. Let us stop selling tickets to our own city.",
    "Somebody pays for every ride. A fare of nothing takes from the school what it gives the bus.",
    "Buses good. Cars bad. That is all, thank you.",
    "Those who clean our offices at five in the morning count coins at the stop. I think of them.",
    "It was tried elsewhere, and those who used to walk took the bus. The drivers stayed in cars.",
)
_PEOPLE = ("person-1", "person-2", "person-3")
_DIALOGUE = {
    "naturalness": "Natural",
    "coherence": "Maintains Context",
    "engagingness": "Engaging",
    "groundedness": "Uses Knowledge",
}


def debate_speeches(folder: Path) -> None:
    """data.csv and judge_simulated.csv: five speeches of two sources, each rated by three."""
    draw = random.Random(1)
    with _table(folder / "data.csv") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["id", "topic_id", "topic", "source", "text", "goodopeningspeech", "#labelers",
             "labeler_ids"]
        )  # fmt: skip
        for n, text in enumerate(_SPEECHES):
            scores = [draw.randint(1, 5) for _ in _PEOPLE]
            source = ("made up by one", "made up by another")[n % 2]
            writer.writerow(
                [f"speech-{n}", n // 3, "Public transport should be free", source, text, scores,
                 len(_PEOPLE), json.dumps(_PEOPLE)]
            )  # fmt: skip
    with _table(folder / "judge_simulated.csv") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "score"])
        writer.writerows([f"speech-{n}", draw.randint(1, 5)] for n in range(len(_SPEECHES)))


def argument_quality(folder: Path) -> None:
    """novice_ratings_with_text.json: three arguments, two dimensions, four novices, a gap."""
    draw = random.Random(2)
    arguments = []
    for n, text in enumerate(_SPEECHES[:3]):
        ratings = {
            dimension: {person: str(draw.randint(1, 3)) for person in (*_PEOPLE, "person-4")}
            for dimension in ("clarity", "global-relevance")
        }
        arguments.append(
            {"arg": str(n), "debate": "free-buses_yes", "text": text, "ratings": ratings}
        )
    arguments[0]["ratings"]["clarity"]["person-1"] = "?"  # type: ignore[index]
    _document(folder / "novice_ratings_with_text.json", arguments)


def dialogue_panel(folder: Path) -> None:
    """items.jsonl and chatgpt_panel_scores.jsonl: six replies, two ways of asking."""
    draw = random.Random(3)
    items, panels = [], []
    for n in range(6):
        item: dict[str, Any] = {"item": n, "annotators": list(_PEOPLE)}
        for name in _DIALOGUE.values():
            top = 1 if name == "Uses Knowledge" else 3
            item[name] = [draw.randint(top == 3, top) for _ in _PEOPLE]
        items.append(item)
        for dimension, name in _DIALOGUE.items():
            top = max(3, max(item[name]))
            for variant in ("plain", "explained"):
                scores = [draw.randint(0, top) for _ in range(20)]
                panels.append({"item": n, "dim": dimension, "variant": variant, "scores": scores})
    _lines(folder / "items.jsonl", items)
    _lines(folder / "chatgpt_panel_scores.jsonl", panels)


def critical_questions(folder: Path) -> None:
    """validation.json: two interventions with four labelled questions each."""
    labels = ("Useful", "Useful", "Unhelpful", "Invalid")
    subjects = ("the fares", "the roads")
    document = {
        subject: {
            "intervention_id": subject,
            "intervention": f"SOMEBODY: Look at {subject}, and you know all you need to know.",
            "cqs": [
                {"id": f"{subject}-{n}", "cq": text.format(subject), "label": label}
                for n, (text, label) in enumerate(
                    zip(
                        (
                            "Does what holds of {} hold of the rest?",
                            "Does what holds of {} hold elsewhere?",
                            "What do others say of {}?",
                            "Who painted the town hall?",
                        ),
                        labels,
                        strict=True,
                    )
                )
            ],
        }
        for subject in subjects
    }
    _document(folder / "validation.json", document)


def offensiveness(folder: Path) -> None:
    """comments.csv, ratings.csv and raters.csv: 32 comments, each rated by two people who rate all
    and by six of twelve others, half of them young."""
    draw = random.Random(4)
    people = [f"often-{n}" for n in range(2)], [f"person-{n}" for n in range(12)]
    with _table(folder / "raters.csv") as file:
        writer = csv.writer(file)
        writer.writerow(["rater", "age"])
        for n, name in enumerate(people[0] + people[1]):
            writer.writerow([name, "25-29" if n % 2 else "60-64"])
    with _table(folder / "comments.csv") as texts, _table(folder / "ratings.csv") as ratings:
        comments, given = csv.writer(texts), csv.writer(ratings)
        comments.writerow(["item", "text"])
        given.writerow(["item", "rater", "offensiveness"])
        for n in range(32):
            comments.writerow([f"c{n}", f"Comment {n}: that is {n % 5} kinds of rude."])
            for name in people[0] + draw.sample(people[1], 6):
                given.writerow([f"c{n}", name, min(max(1 + n % 5 + draw.randint(-1, 1), 1), 5)])


def _table(file: Path) -> Any:
    return file.open("w", newline="", encoding="utf-8")


def _document(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content, indent=1), "utf-8")


def _lines(file: Path, rows: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
