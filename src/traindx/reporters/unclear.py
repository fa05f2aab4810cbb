"""What to check where no cause may be called the likeliest."""

from __future__ import annotations

from traindx.causes import causes
from traindx.diagnosis import Diagnosis, Hypothesis
from traindx.reporters.wording import HEALTHY, OTHER, leading, unmeasured

CHECKS = 3  # candidates
SMALL = 0.05  # a candidate less likely than this is no use
LOOK_FOR = "look for: "
ALIKE = 0.6  # of the words of the shorter title
STEM = 6  # letters: 'normalised' and 'normalized' are one word
_SMALL_WORDS = frozenset({"is", "are", "the", "a", "an", "of", "for", "to", "and", "or", "in", "on", "with"})
_TELLING = ("always", "usually", "often")  # how often a cause shows what is worth looking for, the surest first


def checks(diagnosis: Diagnosis) -> list[tuple[Hypothesis, str]]:
    """Where the cause is unclear: the likeliest ones, each with the observation that tells it from the others ('' where
    none is known). Empty where one cause is clear, where there is nothing wrong and where nothing was measured."""
    if diagnosis.verdict == "healthy" or leading(diagnosis) is not None or unmeasured(diagnosis):
        return []
    named = [h for h in diagnosis.hypotheses if h.cause not in (HEALTHY, OTHER)]
    listed = [h for h in named if h.confidence >= SMALL][:CHECKS]
    listed = listed or named[: diagnosis.verdict == "unhealthy"]
    known = causes()
    # a page's look-alikes say by what the other is recognised
    apart_by = {other.cause: known[other.cause].look_alikes for other in listed if other.cause in known}
    said: set[str] = set()
    found = []
    for h in listed:
        text = next((_of_this_one(apart[h.cause]) for apart in apart_by.values() if h.cause in apart), "")
        text = f"{LOOK_FOR}{text}" if text else _to_look_for(diagnosis, h, said)
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
    texts = (f"{LOOK_FOR}{known[one].title}" for one in ranked if not _same(known[one].title, hypothesis.title))
    return next((text for text in texts if text not in said), "")


def _of_this_one(look_alike: str) -> str:
    """A page tells its look-alike from itself ('here'): beside the look-alike only its own half is meant."""
    return look_alike.split("; here ")[0].split(", here ")[0]


def _same(one: str, other: str) -> bool:
    """Whether two titles say the same in the same words: to look for the cause itself is no advice."""
    words = [{word[:STEM] for word in text.lower().split() if word not in _SMALL_WORDS} for text in (one, other)]
    return len(words[0] & words[1]) > ALIKE * min(map(len, words))


def context(diagnosis: Diagnosis, hypothesis: Hypothesis) -> str:
    """What the course of this run says for a candidate besides its symptoms, '' where nothing does."""
    spelled = {symptom.evidence for symptom in diagnosis.symptoms}
    return next((f"for: {text}" for text in hypothesis.supports if text not in spelled), "")


def heading(found: list[tuple[Hypothesis, str]]) -> str:
    these = " these three" if len(found) == CHECKS else " these" if len(found) > 1 else ""
    return f"Cause unclear. Check{these}:"
