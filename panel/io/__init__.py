"""Files in: responses to be judged, and the definitions they are judged by.

Ratings are in `panel.io.ratings`, apart because they need the statistics, and so scipy.
"""

from panel.io.definitions import load_definition, resolve
from panel.io.responses import ResponseFile, load_responses

__all__ = ["ResponseFile", "load_definition", "load_responses", "resolve"]
