"""Conclusions from a result, in a few plain sentences: what is significant, what is not,
and what would settle it.

Pure functions: figures in, sentences out, one module for each command. A sentence claims only what
an adjusted test establishes, or an interval that is widened for all that is claimed with it. The
conclusions of a sweep and of an audit of prompt injection stand next to their figures, in
`persona_panel.experiments.sweep.conclusion` and `persona_panel.experiments.injection`.
"""
