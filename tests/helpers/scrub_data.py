"""SCRuB's published data in small: the files and columns of the release, with essays made up."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from persona_panel.files.published import _DIMENSIONS

AUTHORS = ("claude", "gpt", "gemini", "", "", "")
"""Of each prompt three texts are of models, three of people, who have no model."""


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def rank_of(prompt: int, judge: int, text: int) -> int:
    """Both judges rank the first prompt in order; of the second the second judge turns it round."""
    return 6 - text if (prompt, judge) == (1, 1) else text + 1


def scrub_data(folder: Path) -> Path:
    """Write two prompts of two domains, two judges, six texts each, and one prompt that is a check;
    return the data's folder."""
    folder = folder / "SCRuB-dataset"
    judgments, items = [], []
    for prompt, name in enumerate(("BBQ_01", "MSC_02", "HLE_03")):
        for judge in range(2):
            for text, model in enumerate(AUTHORS):
                own = {"prompt_id": name, "true_id": f"{name}_r{text}", "judge_id": f"J{judge}"}
                scores = {each: 10 - rank_of(prompt, judge, text) for each in _DIMENSIONS}
                judgments.append(
                    own
                    | {
                        "blinded_label": "ABCDEF"[text],
                        "item_type": "cal_quality_floor" if prompt == 2 else "standard",
                        "true_source": "model" if model else "human",
                        "model": model,
                        "rank": rank_of(prompt, judge, text),
                        "score": sum(scores.values()),
                    }
                    | scores
                )
                items.append(own | {"response_text": f"Essay {text} on {name}, with =1+1."})
    annotations = folder / "SCRuBAnnotations"
    write(annotations / "task2_human_judgments.csv", judgments)
    write(annotations / "task2_annotation_items.csv", items)
    write(
        folder / "SCRuBSample" / "study_prompts.csv",
        [
            {"prompt_id": name, "prompt_text": f"What of {name}?"}
            for name in ("BBQ_01", "MSC_02", "HLE_03")
        ],
    )
    return folder
