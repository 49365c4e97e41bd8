"""Claims of conclusions besides those on systems and on agreement, beside tests from SciPy.

Drawn: texts have a quality, prompts a difficulty; raters read both with noise of their own and say
whole numbers from 1 to 5 (lengths, labels: see each claim). With an effect of 0 there is nothing to
claim. Beside stand Student's tests of the prompts' own figures, unless a claim says otherwise, at
the level that the product divides its 5 % into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.independent import Row
from benchmarks.independent.rasch import table_of
from persona_panel.analyses.agree_conclusion import agree_conclusion
from persona_panel.analyses.answers import personas_beside_people
from persona_panel.analyses.bias import ScaleRange, biases
from persona_panel.analyses.bias_result import bias_conclusion
from persona_panel.analyses.correlate_conclusion import correlate_conclusion
from persona_panel.analyses.deliberation import deliberation_conclusion
from persona_panel.statistics import AnalysisOptions, agree, correlate
from persona_panel.statistics.annotators import annotator_test
from persona_panel.statistics.core.estimate import PASSED
from persona_panel.statistics.revisions import spread_of, toward_humans
from persona_panel.statistics.votes import effective_votes

Values = NDArray[np.float64]
Claim = Callable[[np.random.Generator, int, float], tuple[bool, bool]]
"""Draws data of so many prompts with an effect: whether it is claimed, and by the other test."""
SIZES = 5, 12, 24
TEXTS, JUDGES, PEOPLE = 4, 5, 3
NOISE = 1.2
OPTIONS = AnalysisOptions(n_permutations=0)


def read(texts: Values, noise: float, raters: int, rng: np.random.Generator) -> Values:
    """Return ratings 1 to 5 `(prompts, texts, raters)` of texts that are read with this noise."""
    own = noise * rng.normal(size=(*texts.shape, raters))
    return np.clip(np.round(3 + texts[..., None] + own), 1, 5)


def texts_of(rng: np.random.Generator, prompts: int) -> Values:
    return rng.normal(size=(prompts, TEXTS)) + 0.7 * rng.normal(size=(prompts, 1))


def differ(values: Values, level: float = 0.05) -> bool:
    """Return whether the mean over prompts `(prompts,)` is not 0, by Student's test."""
    there = values[~np.isnan(values)]
    return len(there) > 1 and bool(np.ptp(there)) and stats.ttest_1samp(there, 0).pvalue < level


def by_prompt(first: Values, second: Values) -> Values:
    """Return Kendall's τ_b inside each prompt `(prompts,)`; NaN where one side is constant."""
    pairs = zip(first, second, strict=True)
    return np.array(
        [stats.kendalltau(*pair).statistic if all(map(np.ptp, pair)) else np.nan for pair in pairs]
    )


def than_one_person(rng: np.random.Generator, prompts: int, effect: float) -> tuple[bool, bool]:
    """A judge reads with less noise than people do."""
    texts = texts_of(rng, prompts)
    judge, people = read(texts, (1 - effect) * NOISE, 1, rng), read(texts, NOISE, PEOPLE, rng)
    panel, humans = table_of(judge), table_of(people)
    figures = [
        f"{kind}{where}"
        for kind in ("pearson", "human_difference_tau_b")
        for where in ("", "_within_prompts")
    ]
    sentences = correlate_conclusion(correlate(panel, humans, OPTIONS, only=figures), panel, humans)
    apart = []
    for person in range(PEOPLE):
        others = np.delete(people, person, axis=2).mean(axis=2)
        own = by_prompt(people[..., person], others)
        apart.append(by_prompt(judge[..., 0], others) - own)
    with np.errstate(all="ignore"):
        there = ~np.isnan(apart).all(axis=0)
        by_t = differ(np.nanmean(np.array(apart)[:, there], axis=0))
    return any(
        each.startswith(("The panel's mean correlates more", "The panel's mean correlates less"))
        for each in sentences
    ), by_t


def personas_add(rng: np.random.Generator, prompts: int, effect: float) -> tuple[bool, bool]:
    """Judges with personas read with less noise than replicates without."""
    texts = texts_of(rng, prompts)
    ours, plain = (read(texts, noise, JUDGES, rng) for noise in ((1 - effect) * NOISE, NOISE))
    people = read(texts, NOISE, PEOPLE, rng)
    panel = table_of(np.concatenate([ours, plain], axis=2))
    panel = replace(panel, groups=("m",) * 2 * JUDGES, controls=frozenset(panel.raters[JUDGES:]))
    rows = correlate(panel, table_of(people), OPTIONS, only=["persona_gain_tau_b"])
    sentence = personas_beside_people(rows[0]).sentence
    sides = (by_prompt(side.mean(axis=2), people.mean(axis=2)) for side in (ours, plain))
    first, second = sides
    return sentence.startswith(("Personas raise", "Personas lower")), differ(first - second, 0.025)


def _biases(
    rng: np.random.Generator, prompts: int, by_length: float, lenient: float
) -> tuple[list[str], Values, Values]:
    """Return the conclusion on five judges, one more lenient, and of lengths that follow the prompt
    as scores do; the scores, and the lengths."""
    texts = texts_of(rng, prompts)
    lengths = rng.normal(size=(prompts, TEXTS)) + 0.7 * rng.normal(size=(prompts, 1))
    scores = read(texts + by_length * lengths, NOISE, JUDGES, rng)
    scores[..., 0] = np.clip(scores[..., 0] + (rng.random(texts.shape) < lenient), 1, 5)
    names = tuple(f"j{n}" for n in range(JUDGES))
    table = replace(table_of(scores), personas=names, dimensions=("clarity",))
    rows = biases(table, {"clarity": ScaleRange(1, 5, True)}, np.exp(5 + 0.3 * lengths.ravel()))
    return bias_conclusion(rows), scores, lengths


BIASES = JUDGES + 1
"""So many claims are made together: each judge's leniency, and length."""


def longer_is_better(rng: np.random.Generator, prompts: int, effect: float) -> tuple[bool, bool]:
    sentences, scores, lengths = _biases(rng, prompts, effect, 0)
    mean = scores.mean(axis=2)
    product = (mean - mean.mean(axis=0)) * (lengths - lengths.mean(axis=0))
    claimed = any(each.startswith("Significant: longer responses") for each in sentences)
    return claimed, differ(product.sum(axis=1), 0.05 / BIASES)


def lenient_judge(rng: np.random.Generator, prompts: int, effect: float) -> tuple[bool, bool]:
    """Of a judge's ratings so many are a point higher."""
    sentences, scores, _ = _biases(rng, prompts, 0, effect)
    above = (scores - scores.mean(axis=2, keepdims=True)).mean(axis=1)
    by_t = any(differ(above[:, judge], 0.05 / BIASES) for judge in range(JUDGES))
    return any(each.startswith("Of 5 judges") for each in sentences), by_t


def alpha_level(rng: np.random.Generator, prompts: int, effect: float) -> tuple[bool, bool]:
    """α is 2/3 and, with an effect, above; beside the exact F test of the intraclass correlation
    of normal ratings, texts independent."""
    quality = (2**0.5 + effect) * rng.normal(size=(prompts, TEXTS, 1))
    ratings = quality + rng.normal(size=(prompts, TEXTS, JUDGES))
    panel = table_of(ratings)
    options = AnalysisOptions(n_permutations=0, level="interval")
    rows = agree(panel, options, only=["krippendorff_alpha"])
    sentence = agree_conclusion(rows, panel, "dimension")[1].replace("not shown to be", "")
    flat = ratings.reshape(-1, JUDGES)
    n, within = len(flat), flat.var(axis=1, ddof=1).mean()
    ratio = JUDGES * flat.mean(axis=1).var(ddof=1) / within / (1 + JUDGES * 2)
    p = stats.f.cdf(ratio, n - 1, n * (JUDGES - 1))
    return " shown to be" in sentence, 2 * min(p, 1 - p) < 0.05


def spread_changed(rng: np.random.Generator, prompts: int, effect: float) -> tuple[bool, bool]:
    """After deliberation judges read with less noise."""
    texts = texts_of(rng, prompts)
    sides = [read(texts, noise, JUDGES, rng) for noise in (NOISE, (1 - effect) * NOISE)]
    before, after = (side.reshape(-1, JUDGES) for side in sides)
    labels = np.repeat(np.arange(prompts), TEXTS).tolist()
    change = spread_of(before, after, np.ones(len(before), dtype=bool), labels)
    sentence = deliberation_conclusion(1, 1, {"all": change}, None)[0]
    first, second = (side.std(axis=2, ddof=1).mean(axis=1) for side in sides)
    return sentence.startswith("After"), differ(second - first)


def toward_people(rng: np.random.Generator, prompts: int, effect: float) -> tuple[bool, bool]:
    """Judges read with twice the noise of people and, after deliberation, with less; beside
    Student's test of the distance from people alone, of two that are tested."""
    texts = texts_of(rng, prompts)
    sides = [read(texts, 2 * noise, JUDGES, rng) for noise in (NOISE, (1 - effect) * NOISE)]
    people = read(texts, NOISE, PEOPLE, rng).mean(axis=2)
    before, after = (side.reshape(-1, JUDGES, 1) for side in sides)
    labels = np.repeat(np.arange(prompts), TEXTS).tolist()
    (result,) = toward_humans(
        before, after, people.reshape(-1, 1), np.ones(len(before), dtype=bool), labels,
        same_scale=True,
    )  # fmt: skip
    first, second = (np.abs(side.mean(axis=2) - people).mean(axis=1) for side in sides)
    return result.direction.startswith(("toward", "away")), differ(second - first, 0.025)


def takes_a_place(rng: np.random.Generator, prompts: int, effect: float) -> tuple[bool, bool]:
    """A judge reads with so much less noise than people do that he is as near to the others (0) or
    nearer; with ε of 0 no person is passed by chance alone in more than 5 %. Beside the published
    test, which takes texts for independent."""
    texts = texts_of(rng, prompts)
    judge, people = read(texts, (1 - effect) * NOISE, 1, rng), read(texts, NOISE, PEOPLE, rng)
    judge, people = judge.reshape(-1), people.reshape(-1, PEOPLE)
    labels = np.repeat(np.arange(prompts), TEXTS).tolist()

    def passes(clusters: list[int] | None) -> bool:
        test = annotator_test(judge, people, score="neg_rmse", epsilon=0.0, clusters=clusters)
        return test.winning_rate.value >= PASSED

    return passes(labels), passes(None)


def more_votes(rng: np.random.Generator, prompts: int, effect: float) -> tuple[bool, bool]:
    """Replicates without a persona repeat one another the more; beside Student's test of the mean
    correlation of two judges inside a prompt."""
    texts = texts_of(rng, prompts)
    ours = read(texts, NOISE, JUDGES, rng)
    common = NOISE * effect**0.5 * rng.normal(size=texts.shape)
    plain = read(texts + common, NOISE * (1 - effect) ** 0.5, JUDGES, rng)
    ratings = np.concatenate([ours, plain], axis=2).reshape(-1, 2 * JUDGES)
    labels = np.repeat(np.arange(prompts), TEXTS).tolist()
    sets = {"personas": [range(JUDGES)], "replicates": [range(JUDGES, 2 * JUDGES)]}
    _, (difference,) = effective_votes(ratings, sets, None, labels)

    def alike(side: Values) -> Values:
        away = side - side.mean(axis=1, keepdims=True)
        total = away.sum(axis=2)
        return ((total**2).sum(axis=1) / (away**2).sum(axis=(1, 2)) - 1) / (JUDGES - 1)

    with np.errstate(all="ignore"):
        by_t = differ(alike(ours) - alike(plain))
    return bool(difference.sign), by_t


CLAIMS: dict[str, tuple[Claim, float, tuple[int, ...]]] = {
    "personas change the agreement with people": (personas_add, 0.8, SIZES),
    "personas have more effective votes": (more_votes, 0.5, SIZES),
    "longer responses score higher": (longer_is_better, 0.4, SIZES),
    "a judge is lenient": (lenient_judge, 0.6, SIZES),
    "α is at least 0.667, or below": (alpha_level, 0.8, SIZES),
    "the spread of judges changed": (spread_changed, 0.3, SIZES),
    "toward people, or away": (toward_people, 0.8, (8, 12, 24)),
    "passes the annotator test (ε 0)": (takes_a_place, 0.6, (8, 12, 24)),
    "more or less with people than a person": (than_one_person, 0.6, SIZES),
}


def rows(runs: int) -> Iterator[Row]:
    """Yield for each claim how often it is made without and with an effect."""
    for label, (claim, effect, sizes) in CLAIMS.items():
        shares = []
        for size in (0.0, effect):
            for prompts in sizes:
                rng = np.random.default_rng([prompts, len(label), int(10 * size)])
                made = np.mean([claim(rng, prompts, size) for _ in range(runs)], axis=0)
                shares.append((float(made[0]), float(made[1])))
        n = len(sizes)
        errors = tuple(own for own, _ in shares[:n])
        yield Row(label, f"{sizes[0]} to {sizes[-1]} prompts", errors, runs, tuple(shares[n:]))
