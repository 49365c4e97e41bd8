"""Results of matching questions with references: figures by system, the diversity of its questions,
and every match.
"""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev

from persona_panel.experiments.questions.match import (
    Match,
    MatchQuality,
    given_label,
    label_kappa,
    match_quality,
)
from persona_panel.graphs import Response
from persona_panel.results.conclusions.wording import counted
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table, row_of
from persona_panel.statistics.core.arrays import Statistic
from persona_panel.statistics.core.display import number
from persona_panel.statistics.core.estimate import Estimate

_WORD = re.compile(r"\w+(?:['’]\w+)*")


def distinct_n(texts: Sequence[str], n: int) -> float:
    """Divide the different n-grams by all n-grams of the texts, from above 0 to 1; NaN without any.

    Li et al. (2016), section 5.1. Words are compared without case, and no n-gram crosses
    from one text into the next.

    >>> distinct_n(["why this", "why that"], 1)
    0.75
    """
    grams = [gram for text in texts for gram in _grams(text, n)]
    return len(set(grams)) / len(grams) if grams else math.nan


def ngram_diversity(texts: Sequence[str], longest: int = 4) -> float:
    """Return the sum of `distinct_n` for n from 1 to `longest`; NaN where a length has no n-gram.

    Shaib et al. (2025); critical-questions.txt, section 7 and Table 4, whose values lie
    between 0 and 4.
    """
    return math.fsum(distinct_n(texts, n) for n in range(1, longest + 1))


def compression_diversity(texts: Sequence[str]) -> float:
    """Divide the compressed size by the original size (gzip); NaN without a text.

    The reciprocal of the compression ratio (Shaib et al. 2025; critical-questions.txt,
    section 7): near 0 for texts that repeat each other. What gzip adds weighs on short
    texts: compare sets of like size only, as few words may even come to above 1.
    """
    joined = "\n".join(texts).encode()
    return len(gzip.compress(joined, 9, mtime=0)) / len(joined) if joined else math.nan


def _grams(text: str, n: int) -> list[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


_MATCHES_SHOWN = 12


@dataclass(frozen=True, slots=True)
class OverRuns:
    """A system's score over several runs of it.

    Attributes:
        scores: of each run, by its name; NaN where it has none.
        mean, sd: of the scores that there are; `sd` (n − 1) is NaN of a single one.
    """

    scores: Mapping[str, float]
    mean: float
    sd: float


@dataclass(frozen=True, slots=True)
class Diversity:
    """The diversity of a set of questions.

    Attributes:
        n: how many questions.
        ngram, compression: NaN where there are none.
    """

    n: int
    ngram: float
    compression: float

    @classmethod
    def of(cls, texts: Sequence[str]) -> Diversity:
        return cls(len(texts), ngram_diversity(texts), compression_diversity(texts))


@dataclass(frozen=True, slots=True)
class MatchReport:
    """Matches, and what follows from them.

    Attributes:
        systems: the quality of each system's questions.
        diversity: of each system's questions, by its name.
        useful_diversity: of those among them that are useful: a set may be diverse because half of
            it is beside the point.
        runs: the score over runs, of each system whose questions name several.
        kappa: Cohen's kappa of the matched labels with those in the file; None where the
            file has none.
        matches: one for each question, in the order of the file.
        texts: of the questions, likewise.
    """

    systems: Sequence[MatchQuality]
    diversity: Mapping[str, Diversity]
    useful_diversity: Mapping[str, Diversity]
    runs: Mapping[str, OverRuns]
    kappa: Statistic | None
    matches: Sequence[Match]
    texts: Sequence[str]


def match_report(questions: Sequence[Response], matches: Sequence[Match]) -> MatchReport:
    """Report on the matches of these questions. A question's run is its field `run`, where it has
    one."""
    texts: dict[str, list[str]] = {}
    useful: dict[str, list[str]] = {}
    runs: dict[str, dict[str, list[Match]]] = {}
    for question, match in zip(questions, matches, strict=True):
        texts.setdefault(question.system, []).append(question.text)
        own = useful.setdefault(question.system, [])
        if match.label == "useful":
            own.append(question.text)
        if (run := question.metadata.get("run")) is not None:
            runs.setdefault(question.system, {}).setdefault(str(run), []).append(match)
    labels = [given_label(question) for question in questions]
    return MatchReport(
        match_quality(matches),
        {name: Diversity.of(own) for name, own in texts.items()},
        {name: Diversity.of(own) for name, own in useful.items()},
        {name: over_runs(own) for name, own in runs.items() if len(own) > 1},
        label_kappa([match.label for match in matches], labels) if any(labels) else None,
        matches,
        [question.text for question in questions],
    )


def over_runs(matches: Mapping[str, Sequence[Match]]) -> OverRuns:
    """Summarize a system's score over runs, from the matches of each."""
    scores = {name: match_quality(own)[0].score for name, own in matches.items()}
    known = [score for score in scores.values() if not math.isnan(score)]
    return OverRuns(
        scores,
        fmean(known) if known else math.nan,
        stdev(known) if len(known) > 1 else math.nan,
    )


def planned_matches(questions: Sequence[Response]) -> Result:
    """Return the result of questions before they are matched: it has the figures' names."""
    nothing = [
        Match(question.prompt_id or "", question.id or "", question.system or "", None)
        for question in questions
    ]
    return match_result(match_report(questions, nothing))


def match_result(report: MatchReport) -> Result:
    """Return the result of a report: figures by system, and every match."""
    tables = [
        _systems(report), _diversity(report), *_runs(report), _interventions(report),
        _matches(report),
    ]  # fmt: skip
    said = [
        f"{quality.system}: {number(quality.score)} of the questions are useful "
        "(mean over interventions)."
        for quality in report.systems
    ]
    if (kappa := report.kappa) is not None:
        reason = None if kappa.reason is None else str(kappa.reason)
        value = f"undefined ({reason})" if math.isnan(kappa.value) else number(kappa.value)
        of = counted(kappa.n_items or 0, "question")
        said.append(f"Cohen's kappa with the labels in the file: {value}, over {of}.")
        estimate = Estimate(kappa.value, n=kappa.n_items, over="items", reason=reason)
        columns = (Column("kappa", "estimate", figure="kappa"),)
        tables.append(Table("kappa", (), columns, [{"kappa": estimate}]))
    return Result("match", said, tables, list(_which(report)))


def _systems(report: MatchReport) -> Table:
    columns = (
        Column("score", "number", "score", better="higher", figure="score"),
        *(Column(label, "whole", label) for label in report.systems[0].labels),
        Column("not_evaluable", "whole", "not\nevaluable"),
        Column("not_evaluable_share", "number", "share not\nevaluable", figure="not_evaluable"),
        Column("missing", "whole", "missing", figure="missing"),
    )
    rows = [
        row_of(quality, columns, system=quality.system, **quality.labels)
        for quality in report.systems
    ]
    return Table("systems", (Key("system", "system"),), columns, rows, "Critical questions")


def _diversity(report: MatchReport) -> Table:
    columns = (
        Column("ngram", "number", "n-grams"),
        Column("compression", "number", "compression"),
        Column("n", "whole"),
        Column("useful_n", "whole", "useful"),
        Column("useful_ngram", "number", "n-grams,\nuseful"),
        Column("useful_compression", "number", "compression,\nuseful"),
    )
    rows = []
    for quality in report.systems:
        every, useful = report.diversity[quality.system], report.useful_diversity[quality.system]
        of_useful = {f"useful_{name}": value for name, value in asdict(useful).items()}
        rows.append({"system": quality.system, **asdict(every), **of_useful})
    title = "Diversity of the questions, and of the useful ones alone"
    return Table("diversity", (Key("system", "system"),), columns, rows, title)


def _runs(report: MatchReport) -> list[Table]:
    """Return scores over runs and of each run; none where no system has several."""
    if not report.runs:
        return []
    columns = (
        Column("mean", "number", "mean"), Column("sd", "number", "sd"),
        Column("n", "whole", "runs"),
    )  # fmt: skip
    rows = [row_of(of, columns, system=name, n=len(of.scores)) for name, of in report.runs.items()]
    each = [
        {"system": name, "run": run, "score": score}
        for name, of in report.runs.items()
        for run, score in of.scores.items()
    ]
    return [
        Table("runs", (Key("system", "system"),), columns, rows, "Score over runs"),
        Table("run_scores", (Key("system"), Key("run")), (Column("score", "number"),), each),
    ]


def _interventions(report: MatchReport) -> Table:
    rows = [
        {"system": quality.system, "prompt_id": name, "score": score}
        for quality in report.systems
        for name, score in quality.by_intervention.items()
    ]
    keys = Key("system"), Key("prompt_id")
    return Table("interventions", keys, (Column("score", "number"),), rows)


def _matches(report: MatchReport) -> Table:
    columns = (
        *(Column(name, "text") for name in ("question", "label", "reference", "reference_text")),
        Column("similarity", "number"),
        Column("error", "text"),
    )
    rows = [
        {
            "prompt_id": match.prompt_id,
            "id": match.id,
            "system": match.system,
            "question": text,
            "label": match.label,
            "reference": None if match.reference is None else match.reference.id,
            "reference_text": None if match.reference is None else match.reference.text,
            "similarity": match.similarity,
            "error": match.error,
        }
        for match, text in zip(report.matches, report.texts, strict=True)
    ]
    return Table("matches", (Key("prompt_id"), Key("id"), Key("system")), columns, rows)


def _which(report: MatchReport) -> Iterator[str]:
    """Yield which question matched which reference, of the first ones."""
    for match, text in [*zip(report.matches, report.texts, strict=True)][:_MATCHES_SHOWN]:
        outcome = match.error or "not evaluable: no reference is near enough"
        if (reference := match.reference) is not None:
            near = f", similarity {number(match.similarity)}"
            near = "" if math.isnan(match.similarity) else near
            outcome = f"{reference.label} ({reference.id}{near}): {reference.text}"
        yield f"{match.prompt_id}/{match.id}: {text} {outcome}"
    if (left := len(report.matches) - _MATCHES_SHOWN) > 0:
        yield f"{left:,} more matches are in --json."
