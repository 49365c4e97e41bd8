"""A study with human raters as results: its design, who has answered, and what came of it, with how
far raters agree with themselves and, where all rate the same texts, with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from persona_panel.analyses.agree import agree
from persona_panel.analyses.select import ranks_alone, too_few_to_come
from persona_panel.files.ratings import load_ratings
from persona_panel.files.wording import command_line
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.result import Result
from persona_panel.results.table import CellKind, Column, Key, Table, row_of
from persona_panel.rubrics import Rubric
from persona_panel.statistics import correlation, krippendorff_alpha
from persona_panel.statistics.core.arrays import Statistic
from persona_panel.statistics.core.display import ALL, COMPOSITE
from persona_panel.statistics.core.estimate import Estimate
from persona_panel.statistics.core.table import Ratings
from persona_panel.study.collection import (
    CollectedStudy,
    ReadAnswers,
    TextRating,
    rating_tables,
)
from persona_panel.study.kit import Study
from persona_panel.study.packet import StudyKey

RANK = "rank"
_BY_POINTS = ("rank", "integer")
"""Kinds of answers whose neighbours are one point apart."""


@dataclass(frozen=True, slots=True)
class RepeatReliability:
    """First and second answers to the same texts, of a dimension, `rank`, or a rater (over ranks
    and scores of whole numbers): how many pairs there are, the share that is equal, and the share
    that differs by at most one point or rank (None for categories and real numbers); τ_b over
    raters and texts, or why there is none (None of a rater, and of categories)."""

    of: str
    n: int
    exact: float | None
    within_one: float | None
    correlation: Statistic | None


def repeat_reliability(
    ratings: Sequence[TextRating], rubric: Rubric
) -> tuple[tuple[RepeatReliability, ...], tuple[RepeatReliability, ...]]:
    """Compute the reliability over sets that were shown twice: by dimension (and for ranks), then
    by rater; two tuples, empty where nothing was shown twice."""
    first = {
        (rating.rater, rating.prompt_id, rating.response): rating
        for rating in ratings
        if rating.role != "repeat"
    }
    pairs = [
        (first[rating.rater, rating.prompt_id, rating.response], rating)
        for rating in ratings
        if rating.role == "repeat"
    ]
    by_question = tuple(
        agreement
        for name, kind, value in _questions(rubric)
        if (agreement := _repeated(name, [(value(a), value(b)) for a, b in pairs], kind)).n
    )
    by_rater = []
    for rater in dict.fromkeys(rating.rater for _, rating in pairs):
        own = [
            (value(a), value(b))
            for _, kind, value in _questions(rubric)
            for a, b in pairs
            if b.rater == rater and kind in _BY_POINTS
        ]
        if (agreement := _repeated(rater, own, "rank", correlated=False)).n:
            by_rater.append(agreement)
    return by_question, tuple(by_rater)


def calibration_agreement(key: StudyKey, ratings: Sequence[TextRating]) -> Iterator[dict[str, Any]]:
    """Yield the agreement of raters on the texts that all of them see, of ranks, as they were given
    within each prompt, and each dimension: Krippendorff's α (ordinal; nominal for categories), or
    why there is none, with the numbers of texts and raters."""
    shown = [rating for rating in ratings if rating.role == "calibration"]
    for task, rows in reversed(rating_tables(key, shown).items()):
        read = load_ratings(rows)
        for place, name in enumerate(read.dimensions):
            scores = read.scores[:, :, place]
            rated = ~np.isnan(scores)
            alpha = krippendorff_alpha(scores, level="nominal" if task == "labels" else "ordinal")
            yield {
                "of": RANK if task == "ranks" else name, "texts": int(rated.any(axis=1).sum()),
                "raters": int(rated.any(axis=0).sum()), "alpha": _estimate(alpha),
            }  # fmt: skip


_Value = Callable[[TextRating], float | str | None]


def _questions(rubric: Rubric) -> list[tuple[str, str, _Value]]:
    """Return each question on a text."""
    questions: list[tuple[str, str, _Value]] = [(RANK, "rank", lambda rating: rating.rank)]
    for dimension in rubric.dimensions:
        value = partial(lambda name, rating: rating.scores.get(name), dimension.id)
        questions.append((dimension.id, dimension.scale.kind, value))
    return questions


def _repeated(
    of: str,
    answers: Sequence[tuple[float | str | None, float | str | None]],
    kind: str,
    *,
    correlated: bool = True,
) -> RepeatReliability:
    both = [(a, b) for a, b in answers if a is not None and b is not None]
    n = len(both)
    if not n:
        return RepeatReliability(of, 0, None, None, None)
    exact = sum(a == b for a, b in both) / n
    if kind == "category":
        return RepeatReliability(of, n, exact, None, None)
    values = np.array(both, dtype=float)
    near = float(np.mean(np.abs(values[:, 0] - values[:, 1]) <= 1)) if kind in _BY_POINTS else None
    tau = correlation(values[:, 0], values[:, 1], "tau_b") if correlated else None
    return RepeatReliability(of, n, exact, near, tau)


_SPANS = {
    "sets_per_rater": "sets per rater",
    "texts_per_set": "texts per set",
    "texts_per_rater": "texts per rater, all included",
    "rotated_texts_per_rater": "texts per rater that rotate",
    "rated_texts_per_rater": "texts that a rater rates",
    "ratings_per_text": "raters per text",
    "raters_per_pair": "raters per pair of texts to a prompt",
    "minutes_per_rater": "estimated minutes per rater",
}


def design_result(study: Study) -> Result:
    """Return what a design gives: each figure that differs between raters, texts or pairs with its
    least and its most."""
    design = study.design
    settings, pairs = design.settings, design.raters_per_pair()
    spans: dict[str, Sequence[float]] = {
        "sets_per_rater": [len(session) for session in design.sessions],
        "texts_per_set": design.texts_per_set(),
        "texts_per_rater": design.texts_per_rater(),
        "rotated_texts_per_rater": design.rotated_per_rater(),
        "rated_texts_per_rater": design.rated_per_rater(),
        "ratings_per_text": list(design.ratings_per_text().values()),
        "raters_per_pair": list(pairs.values()),
        "minutes_per_rater": [each.minutes for each in study.packets],
    }
    ends = {name: (min(each, default=0), max(each, default=0)) for name, each in spans.items()}
    facts = {
        "raters": settings.raters,
        "tasks": tuple(settings.tasks),
        "rubric": study.key.rubric.id,
        "prompts": len(design.sizes),
        "texts": sum(design.sizes),
        "per_rater": settings.per_rater,
        "incomplete_sets": design.incomplete_sets(),
        "pairs": len(pairs),
        "pairs_compared": sum(n > 0 for n in pairs.values()),
    }
    kinds: dict[str, CellKind] = {"tasks": "texts", "rubric": "text"}
    naming = tuple(
        Column(name, "flag" if name == "own" else "text")
        for name in ("prompt_id", "id", "system", "name", "part", "own")
    )
    shown = [name for name in _SPANS if name != "raters_per_pair" or pairs]
    tables = [
        Table(
            "spans",
            (Key("of", "of", labels=_SPANS),),
            (Column("least", "whole", "least"), Column("most", "whole", "most")),
            [
                {"of": name, "least": ends[name][0], "most": ends[name][1]}
                for name in shown
            ],
            "Design",
        ),
        Table(
            "design",
            (),
            tuple(Column(name, kinds.get(name, "whole")) for name in facts),
            [facts],
        ),
        Table("naming", (), naming, [row_of(each, naming) for each in study.naming]),
    ]  # fmt: skip
    conclusion = [
        f"{counted(settings.raters, 'rater')}, {counted(sum(design.sizes), 'text')} to "
        f"{counted(len(design.sizes), 'prompt')}; tasks: {', '.join(settings.tasks)}; "
        f"rubric: {study.key.rubric.id}.",
        *_attention_rule(settings.attention, settings.exclude_failed),
        *(ranks_alone(settings.tasks) or too_few_to_come(
            n_prompts=len(design.sizes),
            texts_per_rater=int(ends["rated_texts_per_rater"][1]),
            raters_per_text=int(ends["ratings_per_text"][1]),
        )),
    ]  # fmt: skip
    remarks = []
    if pairs:
        remarks.append(
            f"{facts['pairs_compared']:,} of {counted(len(pairs), 'pair')} of texts to a prompt "
            "are seen together by a rater."
        )
    if (fewest := ends["rotated_texts_per_rater"][0]) < settings.per_rater:
        remarks.append(
            f"Some raters see {fewest:,} texts besides those for calibration, not "
            f"{settings.per_rater:,}: no prompt comes to a rater twice, and a set to be ranked has "
            "two texts or more."
        )
    if "rank" in settings.tasks and design.incomplete_sets():
        remarks.append(
            f"{counted(design.incomplete_sets(), 'set')} of raters lack texts of their prompt: a "
            "rank in them is a rank among fewer texts, so that mean ranks are not comparable "
            "between texts; scores are, and so are comparisons within sets. "
            + (
                "Six texts to a prompt, or fewer, avoid it."
                if settings.readings
                else "A --per-rater that is a multiple of the texts to a prompt avoids it."
            )
        )
    return Result("people make", conclusion, tables, remarks)


def _attention_rule(n: int, exclude_failed: int | None) -> Iterator[str]:
    """Return what counts as a failed attention check, and what follows from it."""
    if n:
        then = (
            "nobody is left out for it, unless `people collect --exclude-failed` is given"
            if exclude_failed is None
            else f"`people collect` leaves out raters who fail {exclude_failed} or more"
        )
        yield (
            "An attention check is failed where any answer to it is not the one that its text asks "
            f"for: {then}."
        )


def progress_result(read: ReadAnswers, collected: CollectedStudy) -> Result:
    """Return who has answered, and how much is missing."""
    conclusion = [_progress(collected), *_failed(collected)]
    return Result("people status", conclusion, [*_progress_tables(read, collected, {})])


def agreement_by_task(ratings: Mapping[str, Ratings]) -> tuple[Table, list[str]]:
    """Return how far raters agree on each task: Kendall's W, with the p-value of a permutation
    test, and Krippendorff's α, as `agree` has them; and its conclusion."""
    rows, sentences, whole = list[dict[str, Any]](), list[str](), set[str]()
    for task, of_raters in ratings.items():
        result = agree(of_raters)
        sentences.append(f"{task.capitalize()}: {result.conclusion[0]}")
        lines: dict[str, dict[str, Any]] = {}
        for row in result["statistics"].rows:
            if row["group"] == ALL and row["by"] is None:
                of = {"task": task, "dimension": row["dimension"], "texts": row["n_items"],
                      "raters": row["n_raters"]}  # fmt: skip
                lines.setdefault(row["dimension"], of)[row["statistic"]] = row["estimate"]
        rows += lines.values()
        whole.update({COMPOSITE} & set(lines) or lines)
    # Where no rater saw all texts of a prompt, W of complete rankings says nothing.
    incomplete = Column("kendall_w_incomplete", "estimate", "W, incomplete\nrankings",
                        figure="kendall_w_incomplete", p_figure="p", p="cell")  # fmt: skip
    columns = (
        Column("texts", "whole", "texts"),
        Column("raters", "whole", "raters"),
        Column("kendall_w", "estimate", "Kendall W", figure="kendall_w", p_figure="p", p="cell"),
        *([incomplete] if any(incomplete.name in row for row in rows) else []),
        Column("krippendorff_alpha", "estimate", "Krippendorff α", figure="krippendorff_alpha"),
    )
    # Ranks alone have no dimension.
    labels = {ALL: "ranks", COMPOSITE: "scores, composite"}
    keys = (Key("task"), Key("dimension", "of", optional=(ALL, COMPOSITE), labels=labels))
    title = "Agreement of raters, by task"
    if any(row["task"] == "ranks" and incomplete.name in row for row in rows):
        sentences[-1] += (
            " Sets lack texts of their prompt, so that their ranks are among different texts: go "
            "by W of incomplete rankings, not by α."
        )
    return Table("agreement", keys, columns, rows, title, short={"dimension": whole}), sentences


def collection_result(
    key: StudyKey,
    read: ReadAnswers,
    collected: CollectedStudy,
    out: str,
    agreement: tuple[Table, Sequence[str]] | None = None,
) -> Result:
    """Return what was collected into the file `out`, how far raters agree with themselves, with
    each other, and on calibration texts."""
    minutes = [each.minutes for each in collected.progress if each.file is not None]
    of_questions, of_raters = repeat_reliability(collected.ratings, key.rubric)
    facts: dict[str, Any] = {"median_minutes": round(median(minutes), 1) if minutes else None}
    if key.inclusion is not None:
        rated = {f"{each.prompt_id}/{each.response}" for each in collected.ratings if each.scores}
        facts["selected"] = len(key.inclusion)
        facts["selected_unrated"] = len(key.inclusion.keys() - rated)
    tables = [
        *_progress_tables(read, collected, facts),
        Table(
            "repeats",
            (Key("of", "of"),),
            (
                Column("pairs", "whole", "pairs"),
                Column("exact", "number", "share\nequal", figure="repeat_exact"),
                Column("within_one", "number", "share\nwithin one"),
                Column("tau_b", "estimate", "τ_b"),
            ),
            [
                {
                    "of": each.of, "pairs": each.n, "exact": each.exact,
                    "within_one": each.within_one, "tau_b": _estimate(each.correlation),
                }
                for each in (*of_questions, *of_raters)
            ],
            "Agreement of raters with themselves, on sets shown twice",
        ),
        Table(
            "calibration",
            (Key("of", "of"),),
            (
                Column("texts", "whole", "texts"),
                Column("raters", "whole", "raters"),
                Column("alpha", "estimate", "Krippendorff's α", figure="calibration_alpha"),
            ),
            [*calibration_agreement(key, collected.ratings)],
            "Agreement of raters on calibration texts",
        ),
    ]  # fmt: skip
    conclusion = [" ".join([_progress(collected), *_failed(collected)])]
    if agreement is not None:
        tables.insert(0, agreement[0])
        conclusion += agreement[1]
    options: dict[str, str | int | Path] = {"--human": out}
    correlate = command_line("people correlate", ["RUN"], options)
    next_step = f"Compare a panel, whose run is in RUN, with these ratings: `{correlate}`."
    if "rate" in key.tasks and "selected" in facts:
        conclusion += _selection(facts)
        next_step = (
            "Correct a panel, whose run is in RUN, by these ratings, weighted by their inclusion "
            f"probabilities: `{command_line('people calibrate', ['RUN'], options)}`."
        )
    return Result("people collect", conclusion, tables, next_step=next_step)


def _failed(collected: CollectedStudy) -> Iterator[str]:
    """Return who failed attention checks, and whether they are left out."""
    failed = [each for each in collected.progress if each.attention_failed]
    for excluded, what in ((True, "left out for it"), (False, "kept")):
        names = [
            f"{each.rater} {each.attention_failed} of {each.attention}"
            for each in failed
            if each.excluded is excluded
        ]
        if names:
            yield f"Attention checks failed, raters {what}: {', '.join(names)}."


def _progress(collected: CollectedStudy) -> str:
    answered = [each for each in collected.progress if each.file is not None]
    sentence = f"{len(answered)} of {counted(len(collected.progress), 'rater')} answered"
    if missing := sum(each.missing for each in answered):
        expected = sum(each.expected for each in answered)
        return f"{sentence}; {missing:,} of their {expected:,} answers are missing."
    if len(answered) == len(collected.progress):
        return f"{sentence}, all that was asked."
    return f"{sentence}; of their answers none is missing." if answered else f"{sentence}."


def _progress_tables(
    read: ReadAnswers, collected: CollectedStudy, facts: dict[str, Any]
) -> Iterator[Table]:
    attention = "attention\nfailed" if any(each.attention for each in collected.progress) else ""
    excluded = "left\nout" if any(each.excluded for each in collected.progress) else ""
    columns = (
        Column("file", "text"),
        Column("given", "whole", "answers", of="expected"),
        Column("expected", "whole"),
        Column("missing", "whole", "missing", figure="missing"),
        Column("not_assessable", "whole", "not\nassessable"),
        Column("reasons", "whole", "reasons", of="reasons_expected"),
        Column("reasons_expected", "whole"),
        Column("minutes", "number", "minutes", digits=1),
        Column("attention_failed", "whole", attention, of="attention_sets"),
        Column("attention_sets", "whole"),
        Column("excluded", "flag", excluded),
    )
    yield Table(
        "raters",
        (Key("rater", "rater"),),
        columns,
        [
            row_of(each, columns, rater=each.rater, minutes=round(each.minutes, 1),
                   attention_sets=each.attention)
            for each in collected.progress
        ],
        "Raters",
    )  # fmt: skip
    facts = {
        "missing": sum(each.missing for each in collected.progress),
        "raters": len(collected.progress),
        "answered": sum(each.file is not None for each in collected.progress),
        **facts,
    }
    figures = {"missing": "missing", "selected_unrated": "selected_unrated"}
    yield Table(
        "study",
        (),
        tuple(
            Column(name, "number" if name == "median_minutes" else "whole",
                   figure=figures.get(name, ""))
            for name in facts
        ),
        [facts],
    )  # fmt: skip
    for name, lines in (("refused", map(str, read.faults)), ("left_aside", read.replaced)):
        yield Table(name, (), (Column("what", "text"),), [{"what": line} for line in lines])


def _estimate(statistic: Statistic | None) -> Estimate | None:
    if statistic is None:
        return None
    return Estimate(
        statistic.value, reason=None if statistic.reason is None else str(statistic.reason)
    )


def _selection(facts: dict[str, Any]) -> Iterator[str]:
    """Return what is missing of the items that `select` drew."""
    if n := facts["selected_unrated"]:
        yield (
            f"{n:,} of {counted(facts['selected'], 'selected item')} "
            f"{'has' if n == 1 else 'have'} no rating: corrected means are then unbiased only if "
            "it is chance which these are."
        )
