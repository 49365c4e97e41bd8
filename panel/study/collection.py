"""Answers unblinded: whose text each rating is of, what is missing, what attention checks found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from persona_panel.study.answers import (
    GivenRanking,
    GivenScores,
    ReadAnswers,
    StudyAnswers,
    score_of,
)
from persona_panel.study.design import SetRole
from persona_panel.study.key import KeyedPacket, KeyedSet, KeyedText, StudyKey


@dataclass(frozen=True, slots=True)
class TextRating:
    """What a rater answered of a text.

    Attributes:
        rater: the rater's name in the study.
        set: the id of the set that the text was shown in.
        role: why the set was shown.
        prompt_id, response, system: which text it is.
        scores: by dimension, a number or the name of a category; what was not answered, or not
            assessable, is left out.
        rank: among the set's texts, 1 the first; None where it was not ranked.
        reason: of the scores; of a study without ratings, that of the ranking.
        label: what the text was called in the packet.
    """

    rater: str
    set: str
    role: SetRole
    prompt_id: str
    response: str
    system: str
    scores: dict[str, float | str]
    rank: int | None
    reason: str
    label: str


@dataclass(frozen=True, slots=True)
class RaterProgress:
    """How far a rater has come; repeated sets and attention checks are counted with the others.

    Attributes:
        rater: the rater's name in the study.
        file: the answers' file; None where none was read.
        expected, given: how many scores and ranks there are to give, and how many there are.
        not_assessable: how many of those given say that a dimension cannot be assessed.
        reasons_expected, reasons: the same of written reasons.
        minutes: how long the pages were in view.
        attention, attention_failed: how many attention sets were answered, and how many of them
            otherwise than they asked.
    """

    rater: str
    file: str | None
    expected: int
    given: int
    not_assessable: int
    reasons_expected: int
    reasons: int
    minutes: float
    attention: int
    attention_failed: int

    @property
    def missing(self) -> int:
        """How many scores and ranks are not there."""
        return self.expected - self.given


@dataclass(frozen=True, slots=True)
class CollectedStudy:
    """What came back of a study.

    Attributes:
        progress: of every rater, in the order of the packets.
        ratings: of every text that was shown to a rater whose answers are there.
    """

    progress: tuple[RaterProgress, ...]
    ratings: tuple[TextRating, ...]


def collect_study(key: StudyKey, read: ReadAnswers) -> CollectedStudy:
    """Unblind the answers; nothing that is missing is filled in."""
    by_packet = {packet.packet: (answers, file) for packet, answers, file in read.found}
    progress, ratings = [], []
    for packet in key.packets:
        answers, file = by_packet.get(packet.packet, (None, None))
        progress.append(_progress_of(key, packet, answers, file))
        if answers is not None:
            ratings += _ratings_of(key, packet, answers)
    return CollectedStudy(tuple(progress), tuple(ratings))


def _progress_of(
    key: StudyKey, packet: KeyedPacket, answers: StudyAnswers | None, file: str | None
) -> RaterProgress:
    n_texts = sum(len(one.texts) for one in packet.sets)
    n_dimensions = len(key.rubric.dimensions)
    expected = ("rank" in key.tasks) * n_texts + ("rate" in key.tasks) * n_texts * n_dimensions
    reasons_expected = ("rank" in key.tasks) * len(packet.sets) + ("rate" in key.tasks) * n_texts
    rankings = () if answers is None else answers.rankings
    scored = () if answers is None else answers.ratings
    answered: list[GivenRanking | GivenScores] = [*rankings, *scored]
    values = [value for one in scored for value in one.scores.values()]
    checks = [] if answers is None else list(_attention(packet, answers))
    return RaterProgress(
        rater=packet.rater,
        file=file,
        expected=expected,
        given=sum(len(one.ranks) for one in rankings) + len(values),
        not_assessable=sum(value == "not_assessable" for value in values),
        reasons_expected=reasons_expected,
        reasons=sum(bool(one.reason.strip()) for one in answered),
        minutes=sum(one.milliseconds for one in answered) / 60_000,
        attention=len(checks),
        attention_failed=checks.count(False),
    )


def _by_id(
    answers: StudyAnswers,
) -> tuple[dict[str, GivenRanking], dict[str, GivenScores]]:
    return (
        {one.set: one for one in answers.rankings},
        {one.text: one for one in answers.ratings},
    )


def _attention(packet: KeyedPacket, answers: StudyAnswers) -> Iterator[bool]:
    """Of each attention set that was answered, whether it was answered as it asked."""
    rankings, scored = _by_id(answers)
    for one in packet.sets:
        if one.role != "attention":
            continue
        ranks = rankings[one.id].ranks if one.id in rankings else {}
        said: list[tuple[int | str, int | str | None]] = [
            (ranks[text.id], text.rank) for text in one.texts if text.id in ranks
        ]
        for text in one.texts:
            given = scored[text.id].scores if text.id in scored else {}
            said += [(value, (text.scores or {}).get(name)) for name, value in given.items()]
        if said:
            yield all(str(value) == str(asked) for value, asked in said)


def _ratings_of(key: StudyKey, packet: KeyedPacket, answers: StudyAnswers) -> list[TextRating]:
    rankings, scored = _by_id(answers)
    return [
        _rating(key, packet, one, text, rankings.get(one.id), scored.get(text.id))
        for one in packet.sets
        if one.role != "attention"
        for text in one.texts
    ]


def _rating(
    key: StudyKey,
    packet: KeyedPacket,
    one: KeyedSet,
    text: KeyedText,
    ranking: GivenRanking | None,
    given: GivenScores | None,
) -> TextRating:
    scores = {} if given is None else given.scores
    read = {name: score_of(key.rubric, name, value) for name, value in scores.items()}
    reason = given.reason if given is not None else ranking.reason if ranking is not None else ""
    return TextRating(
        rater=packet.rater,
        set=one.id,
        role=one.role,
        prompt_id=str(one.prompt_id),
        response=str(text.response),
        system=str(text.system),
        scores={name: value for name, value in read.items() if value is not None},
        rank=None if ranking is None else ranking.ranks.get(text.id),
        reason=reason.strip(),
        label=text.label,
    )
