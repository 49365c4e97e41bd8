"""The public names of persona-panel, each once: `panel` imports them from here when first used."""

from graphs import Judge as Judge
from graphs import Judgment as Judgment
from graphs import LabelSummary as LabelSummary
from graphs import Response as Response
from graphs import Summary as Summary
from graphs import Verdict as Verdict
from graphs.framing import FramedResponse as FramedResponse
from graphs.framing import Framings as Framings
from graphs.framing import Prompt as Prompt
from panel.calls.budget import Caps as Caps
from panel.errors import ConfigurationError as ConfigurationError
from panel.errors import Fault as Fault
from panel.errors import InputError as InputError
from panel.errors import PanelError as PanelError
from panel.errors import RunFolderError as RunFolderError
from panel.errors import RunStopped as RunStopped
from panel.io.aligned_ratings import load_aligned_ratings as load_aligned_ratings
from panel.io.definitions import load_definition as load_definition
from panel.io.prompts import load_framed_responses as load_framed_responses
from panel.io.prompts import load_prompts as load_prompts
from panel.io.ratings import load_ratings as load_ratings
from panel.io.responses import ResponseFile as ResponseFile
from panel.io.responses import load_responses as load_responses
from panel.judging.cost_estimate import CostEstimate as CostEstimate
from panel.models.config import ModelConfig as ModelConfig
from panel.panel import Panel as Panel
from panel.plan.panel_plan import PanelPlan as PanelPlan
from panel.runs.collected import Coverage as Coverage
from panel.runs.load import load_run as load_run
from panel.runs.output import RunOutput as RunOutput
from panel.runs.run import Run as Run
from panel.statistics.core.ranking import SystemRank as SystemRank
from panel.statistics.core.table import Ratings as Ratings
from panel.sweep.result import Sweep as Sweep
from personas import Persona as Persona
from personas import PersonaSet as PersonaSet
from rubrics import Abstention as Abstention
from rubrics import CategoryScale as CategoryScale
from rubrics import Composite as Composite
from rubrics import Dimension as Dimension
from rubrics import RealScale as RealScale
from rubrics import Rubric as Rubric
from rubrics import Scale as Scale
from rubrics import Usage as Usage

__version__: str
