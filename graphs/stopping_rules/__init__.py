"""Rules by which a deliberation ends before its last round: one a file, found by its name.

A rule is a module with a docstring, whose first line says when it stops, and a function
`should_stop(judgments, rubric)`: of all judgments of a response so far, of every round, whether
there is to be no further one. It is asked after each round, the first reading too. Another
distribution adds one by the entry point group `persona_panel.stopping_rules`.
"""
