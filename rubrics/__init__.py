"""Rubrics: what is asked, how it is put to a model, and how an answer is read."""

from importlib.resources import files
from pathlib import Path

from persona_panel.rubrics.elicitation import (
    Calls,
    Comparing,
    Comparison,
    Dialogue,
    Elicitation,
    Layout,
    ModelRequest,
    ModelResponse,
    ParsedJudgment,
    Position,
    Question,
    Status,
    Usage,
    calls_by_dimension,
    dialogue_of,
    elicitation_names,
    is_comparative,
    load_comparing,
    load_elicitation,
    shares_prefix,
    single_dimension_rubrics,
)
from persona_panel.rubrics.rubric import (
    Abstention,
    CategoryScale,
    Composite,
    Dimension,
    ItemForm,
    JudgePrompt,
    ReadingRule,
    RealScale,
    Rubric,
    RubricVariant,
    Scale,
    VariantDimension,
)

__all__ = [
    "Abstention",
    "Calls",
    "CategoryScale",
    "Comparing",
    "Comparison",
    "Composite",
    "Dialogue",
    "Dimension",
    "Elicitation",
    "ItemForm",
    "JudgePrompt",
    "Layout",
    "ModelRequest",
    "ModelResponse",
    "ParsedJudgment",
    "Position",
    "Question",
    "ReadingRule",
    "RealScale",
    "Rubric",
    "RubricVariant",
    "Scale",
    "Status",
    "Usage",
    "VariantDimension",
    "calls_by_dimension",
    "dialogue_of",
    "elicitation_names",
    "is_comparative",
    "load_comparing",
    "load_elicitation",
    "shares_prefix",
    "shipped",
    "single_dimension_rubrics",
]


def shipped() -> dict[str, Path]:
    """Return the YAML file of each rubric in the library, by name."""
    folder = Path(str(files("persona_panel.rubrics").joinpath("library")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}
