"""Analyses: one module a question, from what was rated to a `Result`.

How to write one (`votes.py` is an example; `X` is its name):

1. `panel/analyses/X.py`, whose docstring's first paragraph is its line in `persona-panel --help`,
   and whose imports at the top are light (no numpy, no pydantic: its own `--help` imports the
   module); what computes is imported in the function.
2. A function `X(inputs, *, options) -> Result`, decorated with `@analysis(title, *parameters,
   group=heading, example=arguments, requirements=examples)`. `group` is the heading that
   `persona-panel --help` has it under; what compares with people is of the group People, and
   stands behind `people`. Parameters are those of `persona_panel.analyses.parameters` (what
   several have) and `Option`s of its own, each called as the argument. The docstring, up to
   `Args:`, is the command's help, its first paragraph and the first sentence of each option what
   `--help` has; what few need is declared with `hidden=True`. Exit statuses and the options of
   every result are added.
3. Inputs are read by `persona_panel.analyses.inputs`: files or objects, alike.
4. `X_result(what was computed, …) -> Result` describes it: sentences (`X_conclusion`), tables of
   `Column`s and rows (`row_of` takes attributes), `Estimate`s and `Difference`s as cells, `Key`s
   with labels and the values that a requirement may leave out; `figure=` is the name by which it
   is required. Statistics return estimates themselves. For the full report alone: `when`, `short`,
   `full`, `remarks_in_full`; for programs alone: no title, no head; for people alone:
   `programs=False`. `reading`, `source` and `coverage` say what it is of. Intervals, p-values,
   reasons, "in brackets", "--full has …" come by themselves.
5. `python -m tests.stub` writes its name into `panel/__init__.pyi`. A section of a run's page
   beside people's ratings: `@analysis(…, on_page=function)`, which yields results; see
   `persona_panel.analyses.analysis`. There each column of figures has a `definition`; that of a
   head which several tables have stands in `panel/results/definitions.py`.
6. A job that asks models is no analysis: its command has `@result_options(*examples)`, and ends
   with `output.show(result, status=…)`.
7. `tests/panel/analyses/test_X.py`; names that changed in JSON, in CHANGELOG's table.
"""
