"""Files in: responses to be judged, and the definitions they are judged by.

Ratings are in `persona_panel.files.ratings`, apart because they need the statistics, and so scipy.
"""

from persona_panel.files.definitions import load_definition, resolve
from persona_panel.files.responses import ResponseFile, load_responses

__all__ = ["ResponseFile", "load_definition", "load_responses", "resolve"]
