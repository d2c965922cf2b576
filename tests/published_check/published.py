"""Everything that the papers derived from their own tables, with counts of what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from published_check.correlations import correlations
from published_check.derived import Derived, Significance, Verdict
from published_check.means import means
from published_check.significance import significances
from published_check.unprinted import unprinted


@dataclass(frozen=True, slots=True)
class Published:
    """What `derive_published` found.

    Attributes:
        derived: Means, correlations and p-values, those that cannot be recomputed last.
        significances: Marks of significance.
    """

    derived: tuple[Derived, ...]
    significances: tuple[Significance, ...]

    def counts(self) -> dict[str, dict[str, int]]:
        """How many numbers of each kind came to each verdict, every verdict named."""
        kinds: dict[str, Iterable[Derived | Significance]] = {
            kind: [row for row in self.derived if row.kind == kind]
            for kind in ("mean", "correlation", "p")
        }
        kinds["significance"] = self.significances
        found = {
            kind: Counter(row.verdict for row in rows) for kind, rows in kinds.items()
        }
        return {
            kind: {str(verdict): count[verdict] for verdict in Verdict}
            for kind, count in found.items()
        }


def derive_published() -> Published:
    """Recompute all of it; a few seconds, and the same every time: nothing is drawn at random."""
    return Published((*means(), *correlations(), *unprinted()), tuple(significances()))
