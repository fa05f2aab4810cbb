"""What to check where no cause may be called the likeliest."""

from __future__ import annotations

from traindx.causes import causes
from traindx.diagnosis import Diagnosis, Hypothesis
from traindx.reporters.wording import HEALTHY, OTHER, leading, unmeasured

CHECKS = 3  # candidates


def checks(diagnosis: Diagnosis) -> list[tuple[Hypothesis, str]]:
    """Where the cause is unclear: the likeliest ones, each with the observation that tells it from the others ('' where
    none is known). Empty where one cause is clear, where there is nothing wrong and where nothing was measured."""
    if diagnosis.verdict == "healthy" or leading(diagnosis) is not None or unmeasured(diagnosis):
        return []
    listed = [h for h in diagnosis.hypotheses if h.cause not in (HEALTHY, OTHER)][:CHECKS]
    known = causes()
    # a page's look-alikes say by what the other is recognised
    apart_by = {other.cause: known[other.cause].look_alikes for other in listed if other.cause in known}
    return [(h, next((apart[h.cause] for apart in apart_by.values() if h.cause in apart), "")) for h in listed]


def heading(found: list[tuple[Hypothesis, str]]) -> str:
    these = " these three" if len(found) == CHECKS else " these" if len(found) > 1 else ""
    return f"Cause unclear. Check{these}:"
