"""The ways of drawing a rating out of a model, one module each, named by its file.

A module offers `NEEDS_LOGPROBS`, `serves(rubric)`, `rated(rubric)`, `calls(rubric)` and
`dialogue(question)`; see `rubrics.elicitation.Elicitation`. One that compares the responses to
a prompt says so by `COMPARES`; see `Comparing` there. Adding a file here is all it takes to add
one.
"""
