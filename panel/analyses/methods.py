"""The methods paragraph of a run, with its own figures and the sources of what was computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from persona_panel.analyses.judge_groups import labels_of_personas
from persona_panel.files.outputs import version_of
from persona_panel.results.conclusions.wording import counted, first_of, listed
from persona_panel.runs.collected import judge_sample, ratings_of
from persona_panel.runs.run import Run
from persona_panel.runs.run_remarks import unfenced_notice
from persona_panel.statistics.core.display import general, percent
from persona_panel.statistics.core.table import on_composite

if TYPE_CHECKING:
    from persona_panel.analyses.analysis import RunWithPeople

HUNG = "Hung, K. and Fithian, W. (2019). Annals of Statistics, 47, 758-782."
SHAFFER = "Shaffer, J. P. (1986). Journal of the American Statistical Association, 81, 826-831."
KRIPPENDORFF = "Krippendorff, K. (2004). Content Analysis, 2nd ed. Sage."
SHROUT = "Shrout, P. E. and Fleiss, J. L. (1979). Psychological Bulletin, 86, 420-428."
PREDICTION = (
    "Angelopoulos, A. N. et al. (2023). Prediction-powered inference. Science, 382, 669-674."
)
ANNOTATOR = "Calderon, N. et al. (2025). The alternative annotator test. Proceedings of ACL 2025."
WILSON = "Wilson, E. B. (1927). Journal of the American Statistical Association, 22, 209-212."
YATES = "Yates, F. (1936). Incomplete randomized blocks. Annals of Eugenics, 7, 121-140."
KENDALL = "Kendall, M. G. (1945). Biometrika, 33, 239-251."


def methods_of(run: Run, people: RunWithPeople | None = None) -> list[str]:
    """Return the paragraph, and the references that it cites, one each."""
    sentences, cited = [_texts(run), _judges(run), _rubric(run)], [HUNG, SHAFFER, WILSON]
    sentences.append(
        "Systems were compared by two-sided paired t-tests over prompts: the first with each other "
        "one without adjustment (Hung and Fithian 2019), all pairs adjusted by Shaffer's procedure "
        "(Shaffer 1986); 95 % intervals are Student's t over prompts"
        + (" and judges" if run.random == "prompts-and-judges" else ", with the judges as fixed")
        + ", those of means on a scale in the form of Wilson (1927)."
    )
    if len(run.judges) > 1:
        sentences.append(
            "Agreement is Krippendorff's α at the ordinal level (Krippendorff 2004), the "
            "reliability of the panel's mean ICC(2,k) (Shrout and Fleiss 1979), each with a "
            "jackknife over prompts."
        )
        cited += [KRIPPENDORFF, SHROUT]
    if people is not None:
        n = people.people.n_raters_of(people.panel)
        who = "1 person" if n == 1 else f"{n:,} people"
        sentences.append(
            f"{who} rated {counted(len(people.people.items), 'response')}; the panel was compared "
            "with the mean of their ratings by Kendall's τ_b (Kendall 1945) and the alternative "
            f"annotator test with ε = {people.epsilon:g} (Calderon et al. 2025)."
        )
        cited += [KENDALL, ANNOTATOR]
        calibrated = people.calibrated
        if calibrated is not None and calibrated.corrects:
            sentences.append(
                "Systems' means were corrected by prediction-powered inference (Angelopoulos et "
                "al. 2023)."
            )
            cited.append(PREDICTION)
    sentences.append(_missing(run))
    if run.coverage.missing:
        cited.append(YATES)
    sentences.append(f"Computed with persona-panel {version_of('persona-panel')}, seed {run.seed}.")
    return [" ".join(sentences), *cited]


def _texts(run: Run) -> str:
    systems = len({item.system for item in run.items})
    prompts = len({item.prompt_id for item in run.items})
    return (
        f"{counted(len(run.items), 'response')} of {counted(systems, 'system')} to "
        f"{counted(prompts, 'prompt')} were rated by {counted(len(run.judges), 'judge')}."
    )


def _judges(run: Run) -> str:
    labels = {persona.id: persona.label for persona in run.personas}
    personas = list(dict.fromkeys(judge.persona for judge in run.judges if judge.has_persona))
    models = list(dict.fromkeys(judge.model for judge in run.judges))
    elicitations = list(dict.fromkeys(judge.elicitation for judge in run.judges))
    who = "Judges without a persona"
    if personas:
        named = ", ".join(labels.get(name, name) for name in personas)
        who = f"{counted(len(personas), 'persona')} ({named})"
        if any(not judge.has_persona for judge in run.judges):
            who += ", compared with judges without one,"
    deliberated = "" if run.before is None else " and deliberated"
    notices = [*unfenced_notice(run), *run.rubric.asked_in.notice]
    return (
        f"{who} spoke through {listed(models, 'models')}; they were asked by the elicitation "
        f"{' '.join([f'{listed(elicitations)}{deliberated}.', *notices])}"
    )


def _rubric(run: Run) -> str:
    dimensions = [dimension.label for dimension in run.rubric.dimensions]
    scales = {
        f"{general(scale.min)}-{general(scale.max)}" for scale in run.rubric.numeric_scales.values()
    }
    on = f", from {scales.pop()}" if len(scales) == 1 else ""
    composite = ""
    if on_composite(ratings_of(run)) is not None:
        composite = " The composite is the mean over the dimensions."
    return (
        f"The rubric {run.rubric.label} has {counted(len(dimensions), 'dimension')}"
        f" ({'; '.join(dimensions)}){on}.{composite}"
    )


def _missing(run: Run) -> str:
    coverage = run.coverage
    missing = sum(coverage.missing.values())
    if not missing:
        return "No judgment is missing."
    why = ", ".join(f"{n:,} {status}" for status, n in coverage.missing.items())
    share = percent(missing / coverage.expected)
    return (
        f"{missing:,} of {coverage.expected:,} judgments ({share}) are missing ({why}); nothing "
        "was imputed. Where judges rated some systems only, these were compared by least squares "
        "on systems and judges within prompts (Yates 1936)."
    )


_NAMED = 3


def alike_remark(run: Run) -> Iterator[str]:
    """Yield the sentence on which personas or models gave the same ratings, where judges are a
    sample."""
    import numpy as np

    from persona_panel.statistics.core.arrays import encode_labels, mean_there
    from persona_panel.statistics.core.jackknife import LEAST_JUDGES
    from persona_panel.statistics.votes import same_ratings

    columns, _ = run.ranking_columns()
    judges, ratings = [run.judges[column] for column in columns], run.ratings[:, columns]
    sample = judge_sample(ratings, judges, run.rubric, run.dimensions, run.categories)
    labels, groups = labels_of_personas(run), []
    if sample is None or len(judges) < LEAST_JUDGES:
        return
    for levels in sample.factors.values():
        names, codes = encode_labels(levels, len(judges))
        called = [labels.get(name, name) for name in map(str, names)]
        means = [mean_there(ratings[:, codes == code], 1) for code in range(len(names))]
        groups += [
            f"{listed([called[each] for each in group])} gave the same ratings to {same:,} of "
            f"{counted(of, 'response')}"
            for group, same, of in same_ratings(np.stack(means, axis=1))
        ]
    if groups:
        limit = "Intervals over prompts and judges take them for independent."
        yield f"{first_of(groups, _NAMED)}. {limit}"
