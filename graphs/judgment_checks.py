"""What of a judgment the rubric or the response forbids: found in those that are read from a file,
and in those that nodes of a user's own graph write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, get_args

from persona_panel.graphs.context import Abort
from persona_panel.graphs.records import Judgment, Response
from persona_panel.rubrics import CategoryScale, Rubric, Status
from persona_panel.rubrics.replies import shown

_STATUSES = frozenset(get_args(Status))


class Misfit(NamedTuple):
    """A field of a judgment, what was found there, and what is expected."""

    field: str
    found: str
    expected: str


class RatingCheck:
    """Finds ratings that are of no dimension of a rubric, or off its scale.

    Args:
        rubric: as the ratings come.
    """

    def __init__(self, rubric: Rubric) -> None:
        self._scales: dict[str, tuple[float, float]] = {}
        for dimension in rubric.dimensions:
            if not isinstance(dimension.scale, CategoryScale):
                self._scales[dimension.id] = (dimension.scale.min, dimension.scale.max)
        self._categories = rubric.categories

    def of(self, judgment: Judgment) -> Iterator[Misfit]:
        """What does not fit among the scores and labels of a judgment."""
        for name, score in judgment.scores.items():
            ends = self._scales.get(name)
            if ends is None:
                yield Misfit("scores", f"the dimension {shown(name)}", _one_of(self._scales))
            # A score may be a mean over a judge's probabilities: not a whole number.
            elif not isinstance(score, int | float) or not ends[0] <= score <= ends[1]:
                expected = f"a number from {ends[0]:g} to {ends[1]:g}"
                yield Misfit(f"scores.{name}", shown(score), expected)
        for name, label in judgment.labels.items():
            categories = self._categories.get(name)
            if categories is None:
                yield Misfit("labels", f"the dimension {shown(name)}", _one_of(self._categories))
            elif label not in categories:
                expected = f"one of {', '.join(categories)}"
                yield Misfit(f"labels.{name}", shown(label), expected)


def check_own(added: Iterable[Any], adjudication: Any, response: Response, rubric: Rubric) -> None:
    """See that a verdict can be made of what nodes of a user's own graph wrote.

    Raises:
        Abort: it cannot; says what was found and what is expected.
    """
    wrote = [("judgments", one) for one in added]
    if adjudication is not None:
        wrote.append(("adjudication", adjudication))
    for key, one in wrote:
        for field, found, expected in _misfits_of_own(one, response, rubric):
            raise Abort(
                f"a node of the panel's graph wrote into {key!r}, of the response {response.id!r}, "
                f"what no verdict can be made of: {field}: found {found}; expected {expected}"
            )


def _misfits_of_own(judgment: Any, response: Response, rubric: Rubric) -> list[Misfit]:
    """What does not fit of a judgment of a response that a node of a user's own graph wrote."""
    if not isinstance(judgment, Judgment):
        return [Misfit("type", shown(judgment), "a Judgment")]
    about = (judgment.prompt_id, judgment.id)
    if about != (response.prompt_id or "", response.id):
        of = f"({shown(response.prompt_id or '')}, {shown(response.id)})"
        return [Misfit("prompt_id, id", f"({', '.join(map(shown, about))})", of)]
    if judgment.status not in _STATUSES:
        return [Misfit("status", shown(judgment.status), f"one of {', '.join(get_args(Status))}")]
    for name in ("scores", "labels"):
        if not isinstance(found := getattr(judgment, name), Mapping):
            return [Misfit(name, shown(found), "a mapping from dimensions")]
    return list(RatingCheck(rubric).of(judgment))


def _one_of(dimensions: Iterable[str]) -> str:
    names = ", ".join(dimensions)
    return f"one of the rubric's: {names}" if names else "none: the rubric has no such dimension"
