"""What to check where no cause may be called the likeliest."""

from __future__ import annotations

from traindx.causes import causes
from traindx.diagnosis import Diagnosis, Hypothesis
from traindx.reporters.wording import HEALTHY, OTHER, leading, unmeasured

CHECKS = 3  # candidates
SMALL = 0.05  # where it is not even settled that something is wrong, a candidate below this is no use
_TELLING = ("always", "usually", "often")  # how often a cause shows what is worth looking for, the surest first


def checks(diagnosis: Diagnosis) -> list[tuple[Hypothesis, str]]:
    """Where the cause is unclear: the likeliest ones, each with the observation that tells it from the others ('' where
    none is known). Empty where one cause is clear, where there is nothing wrong and where nothing was measured."""
    if diagnosis.verdict == "healthy" or leading(diagnosis) is not None or unmeasured(diagnosis):
        return []
    least = SMALL if diagnosis.verdict == "inconclusive" else 0.0
    listed = [h for h in diagnosis.hypotheses if h.cause not in (HEALTHY, OTHER) and h.confidence >= least][:CHECKS]
    known = causes()
    # a page's look-alikes say by what the other is recognised
    apart_by = {other.cause: known[other.cause].look_alikes for other in listed if other.cause in known}
    said: set[str] = set()
    found = []
    for h in listed:
        text = next((apart[h.cause] for apart in apart_by.values() if h.cause in apart), "")
        text = text or _to_look_for(diagnosis, h, said)
        said.add(text)
        found.append((h, text))
    return found


def _to_look_for(diagnosis: Diagnosis, hypothesis: Hypothesis, said: set[str]) -> str:
    """What this cause shows and nobody has measured yet: seen directly where there is such a symptom."""
    from traindx.symptoms import symptoms  # brings numpy, which the help of the command line does without

    if hypothesis.cause not in causes():
        return ""
    predicts, known = causes()[hypothesis.cause].predicts, symptoms()
    open_ones = [s.id for s in diagnosis.symptoms if s.state == "unknown" and predicts.get(s.id) in _TELLING]
    ranked = sorted(open_ones, key=lambda one: (not known[one].direct, _TELLING.index(predicts[one])))
    texts = (f"look for: {known[one].title}" for one in ranked)
    return next((text for text in texts if text not in said), "")


def heading(found: list[tuple[Hypothesis, str]]) -> str:
    these = " these three" if len(found) == CHECKS else " these" if len(found) > 1 else ""
    return f"Cause unclear. Check{these}:"
