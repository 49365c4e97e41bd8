"""The ways of drawing a rating out of a model, one module each, named by its file.

A module offers `NEEDS_LOGPROBS`, `serves(rubric)`, `output_rubric(rubric)`, `calls(rubric)` and
`dialogue(question)`; see `persona_panel.rubrics.elicitation.Elicitation`. One that compares the
responses to a prompt says so by `COMPARES`; see `Comparing` there. A file here is all it takes to
add one; another distribution registers its own in the entry point group
`persona_panel.elicitations`.
"""
