"""What a run shows about responses on which its personas disagree."""

from __future__ import annotations

from persona_panel.results.conclusions.wording import counted


def contested_conclusion(n_established: int, n_tested: int, reasons: tuple[str, ...]) -> str:
    """How many responses are contested beyond noise, or why that cannot be said.

    Args:
        n_established: of the `n_tested` responses that could be tested.
        reasons: why others, or all, could not be.
    """
    if not n_tested:
        return f"Which responses are contested cannot be said: {'; '.join(reasons)}."
    if not n_established:
        return (
            f"No response is shown to be contested: on none of {n_tested:,} do personas differ by "
            "more than noise explains."
        )
    are = "is" if n_established == 1 else "are"
    untested = f" Not every response could be tested ({'; '.join(reasons)})." if reasons else ""
    return (
        f"{n_established:,} of {counted(n_tested, 'response')} {are} contested: personas differ by "
        f"more than noise explains (adjusted p < 0.05).{untested}"
    )
