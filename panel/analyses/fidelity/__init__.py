"""Do personas differ as the people they stand for differ? See docs/explanation/fidelity.md.

`condition` reads conditions on attributes, `groups` the file with groups and contrasts,
`attributes` what is known of raters and items; `measure` is all of it; `result` what it found. The
statistics are in `persona_panel.statistics.fidelity`.
"""
