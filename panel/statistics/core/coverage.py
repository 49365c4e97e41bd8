"""How many judgments of a run there are, and why the others are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many judgments there should be, and how many there are.

    `expected` is `scored` + `abstained` + the sum of `missing`, which counts by reason.
    An abstention is an answer, though no rating. `partial` of those that scored rest on
    fewer comparisons than were asked for. `revisions_failed` counts by reason the revisions that
    failed in a deliberation, and left the judgment before; `reasons_missing`, judges that changed a
    rating and could not be asked why.
    """

    expected: int
    scored: int
    abstained: int
    missing: dict[str, int]
    partial: int = 0
    revisions_failed: dict[str, int] = field(default_factory=dict)
    reasons_missing: int = 0

    @classmethod
    def of(
        cls,
        statuses: Mapping[str, int],
        *,
        partial: int,
        revisions_failed: Mapping[str, int],
        reasons_missing: int,
    ) -> Coverage:
        """Of how many judgments there are of each status, those that were not made as `skipped`.

        >>> Coverage.of({"scored": 3, "skipped": 1}, partial=0, revisions_failed={},
        ...             reasons_missing=0).missing
        {'skipped': 1}
        """
        there = ("scored", "abstained")
        missing = {name: n for name, n in sorted(statuses.items()) if n and name not in there}
        scored, abstained = (statuses.get(name, 0) for name in there)
        return cls(
            scored + abstained + sum(missing.values()),
            scored,
            abstained,
            missing,
            partial,
            dict(sorted(revisions_failed.items())),
            reasons_missing,
        )

    @property
    def complete(self) -> bool:
        """Return whether every judgment is there, whole, and so is every revision."""
        return not (self.missing or self.partial or self.revisions_failed or self.reasons_missing)
