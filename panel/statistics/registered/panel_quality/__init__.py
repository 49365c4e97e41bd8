"""How good the raters are as a panel: what `panel_quality` shows, also in `agree`."""
