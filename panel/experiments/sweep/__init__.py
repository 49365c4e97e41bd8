"""Sweeps: the same prompts under adversarial framings, and what the framing does to the scores.

What is measured is in `deltas`, what it comes to for a system in `profiles`, a sweep as its
user holds it in `result`, how one is run in `running`. In which order things happen is
`persona_panel.graphs.sweeping`'s business.
"""
