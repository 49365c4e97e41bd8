"""Sweeps: the same prompts under adversarial framings, and what the framing does to the scores.

`deltas` has the measures and each system's profile, `result` the sweep as its user holds it,
`running` the run. The order of the steps is in `persona_panel.graphs.sweeping`.
"""
