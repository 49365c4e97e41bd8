"""Differences between the languages of texts and their translations, as one panel scores them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan

import numpy as np

from persona_panel.analyses.inputs import RunSource, folder_of, opened_run
from persona_panel.files.errors import Fault, InputError
from persona_panel.files.wording import shown
from persona_panel.graphs import Response
from persona_panel.results.conclusions.score import on_coverage
from persona_panel.results.conclusions.wording import counted, in_brackets
from persona_panel.results.result import Result
from persona_panel.results.table import Column, Key, Table
from persona_panel.runs.collected import judge_sample
from persona_panel.runs.run import Run
from persona_panel.runs.scale_limits import composite_limits, composite_terms
from persona_panel.statistics.core.arrays import mean_there
from persona_panel.statistics.core.estimate import Difference
from persona_panel.statistics.core.ranking import Leaderboard, rank_systems
from persona_panel.statistics.paired import PairedFigure, order_alike, scores_alike

_NAMED = 3
"""The largest number of significant differences that are named."""


@dataclass(frozen=True, slots=True)
class LanguagePair:
    """Two languages: the difference of the panel's scores, Krippendorff's α of a judge's scores of
    a text and of its translation, and τ_b of the panel's scores within prompts."""

    difference: Difference
    alpha: PairedFigure
    tau: PairedFigure


@dataclass(frozen=True, slots=True)
class ByLanguage:
    """The panel's scores by language, of the `n_texts` texts that are there in every language;
    `n_without` are not."""

    board: Leaderboard
    pairs: tuple[LanguagePair, ...]
    n_texts: int
    n_without: int


def audit_language(run: RunSource) -> Result:
    """Compare a panel's scores of texts with those of their translations; the command's help says
    how.

    Args:
        run: a run's folder, or a run. Its responses have `language` in their metadata, and
            `translation_of`, the original's id, or prompt and system in common with it.

    Raises:
        InputError: there is no run in that folder, or as `by_language`.
    """
    opened = opened_run(run)
    return language_result(by_language(opened), source="" if opened is run else str(run))


def by_language(run: Run) -> ByLanguage:
    """Compare a panel's scores of texts with those of their translations, paired by text.

    Differences are those of `rank_systems` with languages for systems: their p-values are adjusted
    over all pairs of languages. Without a difference 5 to 6.5 % of 200 simulated panels show one (2
    languages of 12 and 24 prompts, 4 of 12).

    Raises:
        InputError: responses without a language, translations of no known text, a text twice in a
            language, or no text in several languages.
    """
    languages, texts = _translations(run)
    rows = np.array(list(texts.values())).reshape(len(texts), -1)
    is_whole = np.all(rows >= 0, axis=1)
    whole = rows[is_whole]
    if len(languages) < 2 or not len(whole):
        actual = f"no text in all of {', '.join(map(shown, languages))}"
        expected = "texts of one prompt and system, or translation_of, in several languages"
        raise InputError([Fault(str(folder_of(run)), actual, expected, field="language")])
    judges, _ = run.ranking_columns()
    of_judges = [run.judges[place] for place in judges]
    source = run.rubric, run.dimensions, run.categories
    ratings = run.ratings[whole.ravel()][:, judges]
    sample, terms = judge_sample(ratings, of_judges, *source), composite_terms(ratings, *source)
    if sample is None or terms is None:
        actual = "no overall score"
        raise InputError([Fault(str(folder_of(run)), actual, "a rubric that rates by numbers")])
    prompts = [prompt for (prompt, _), there in zip(texts, is_whole.tolist(), strict=True) if there]
    board = rank_systems(
        [*languages] * len(whole),
        [prompt for prompt in prompts for _ in languages],
        mean_there(terms, 1).mean(axis=1),
        np.empty((whole.size, 0)),
        [],
        judges=sample,
        random=run.random,
        limits=composite_limits(run.rubric),
    )
    by_judge = terms.mean(axis=2).reshape(*whole.shape, len(judges))
    panel = mean_there(by_judge, 2)
    pairs = []
    for difference in board.differences:
        a, b = languages.index(difference.a), languages.index(difference.b)
        first, second = by_judge[:, a].ravel(), by_judge[:, b].ravel()
        alpha = scores_alike(first, second, np.repeat(prompts, len(judges)).tolist())
        tau, _ = order_alike(panel[:, a], panel[:, b], prompts)
        pairs.append(LanguagePair(difference, alpha, tau))
    return ByLanguage(board, tuple(pairs), len(whole), len(rows) - len(whole))


def _translations(run: Run) -> tuple[list[str], dict[tuple[str, str], list[int]]]:
    """Return the languages, and by prompt and original the row of its text in each, −1 for none."""
    responses, folder = list(run.responses()), str(folder_of(run))
    languages = [str(each.metadata.get("language") or "").strip().casefold() for each in responses]
    originals = [str(each.metadata.get("translation_of") or "") for each in responses]
    names, faults = list(dict.fromkeys(languages)), []
    known: dict[str, list[Response]] = {}
    for response in responses:
        for name in (response.id, f"{response.prompt_id}/{response.id}"):
            known.setdefault(name, []).append(response)
    texts: dict[tuple[str, str], list[int]] = {}
    for row, (response, language, original) in enumerate(
        zip(responses, languages, originals, strict=True)
    ):
        there = known.get(original, []) if original else [response]
        where = f"{response.prompt_id}/{response.id}"
        if not language:
            faults.append(Fault(folder, "no language", "a name or code, such as de", field=where))
        if len(there) != 1:
            actual = f"translation_of {shown(original)}, the id of {len(there)} responses"
            expected = "the id of one, as PROMPT/ID where several have it"
            faults.append(Fault(folder, actual, expected, field=where))
            continue
        of = there[0]
        name = of.id if any(originals) else of.system
        of_text = texts.setdefault((str(of.prompt_id), name), [-1] * len(names))
        place = names.index(language)
        if of_text[place] >= 0:
            actual = f"a second text in {shown(language)}"
            faults.append(Fault(folder, actual, "a text in each language", field=where))
        of_text[place] = row
    if faults:
        raise InputError(faults)
    return names, texts


def language_result(compared: ByLanguage, *, source: str = "") -> Result:
    """Return the result of `by_language`."""
    means = Table(
        "languages",
        (Key("language", "language"),),
        (Column("mean", "estimate", "mean", figure="mean"),),
        [{"language": each.system, "mean": each.composite} for each in compared.board.systems],
        "Languages",
        remarks=list(on_coverage({each.system: each.composite for each in compared.board.systems})),
    )
    pairs = Table(
        "pairs",
        (Key("a", "language"), Key("b")),
        (
            Column("difference", "estimate", "difference",
                signed=True, p="column", figure="difference",
            ),
            Column("alpha", "estimate", "same judge, α", figure="alpha"),
            Column("tau", "estimate", "rankings, τ_b", figure="tau"),
        ),
        [
            {
                "a": each.difference.a, "b": each.difference.b, "difference": each.difference,
                "alpha": each.alpha, "tau": each.tau,
            }
            for each in compared.pairs
        ],
        "Pairs of languages",
        sides=("a", "b"),
    )  # fmt: skip
    remarks = [
        "Paired by text; p is adjusted over all pairs. A difference is of language and translation "
        "together: a poor translation is a poorer text."
    ]
    if compared.n_without:
        remarks.append(
            f"Left out, as not in every language: {counted(compared.n_without, 'text')}."
        )
    return Result("language", list(_conclusion(compared)), (means, pairs), remarks, source=source)


def _conclusion(compared: ByLanguage) -> Iterator[str]:
    shown_ones = [each.difference for each in compared.pairs if each.difference.shown]
    for each in shown_ones[:_NAMED]:
        yield (
            f"The panel scores the same text {each.number()} points higher in "
            f"{each.a} than in {each.b}{in_brackets(each.interval(), each.p_text())}."
        )
    tested = [each.difference for each in compared.pairs if each.difference.reason is None]
    if not shown_ones:
        widest = max(tested, key=lambda each: abs(each.value), default=None)
        yield (
            f"No difference between {len(compared.board.systems)} languages is significant on "
            f"{counted(compared.n_texts, 'text')}"
            + (f"; the widest is {widest.a} − {widest.b} {widest}." if widest else ".")
        )
    alphas = [each for each in compared.pairs if not isnan(each.alpha.value)]
    if alphas:
        least = min(alphas, key=lambda each: each.alpha.value)
        where = f"{least.difference.a} and {least.difference.b}"
        several = f", least between {where}" if len(alphas) > 1 else f" between {where}"
        how = "Agreement" if least.alpha.sign > 0 else "No agreement beyond chance is shown"
        yield f"{how} of a judge's scores of a text and its translation{several}: α {least.alpha}."
