"""Requirements on figures, such as `composite[my-model] >= 6`: are they met?

`requirement` reads them, `figures` finds the figure that one names, `decision` decides, from
figures alone; `run_figures`, `sweep_figures`, `row_figures` and `comparison_figures` collect the
figures of a result. `check` is all of it, for the command line, `persona_panel.testing` and Python;
`sentences`, `junit` and `markdown` write what it found.
"""
