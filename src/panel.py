"""The former name of `persona_panel`, which stands for the same modules."""

import persona_panel._alias  # noqa: F401
