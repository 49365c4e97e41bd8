"""How far raters agree: what `agree` shows."""
