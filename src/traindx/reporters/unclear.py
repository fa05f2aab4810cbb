"""What to check where no cause may be called the likeliest."""

from __future__ import annotations

from traindx.causes import causes
from traindx.diagnosis import ANSWERS, RATHER_WELL, WORTH_NAMING, Diagnosis, Hypothesis
from traindx.reporters.wording import ENDS, HEALTHY, OTHER, SMALL, clean, leading, unmeasured

CHECKS = 3  # candidates
CHECK, LOOK_FOR = "check: ", "look for: "
RATE = "Learning rate: "  # how the figure of the rate begins (engine/figures.py)
_OF_RATES = ("lr", "scheduler", "warmup")  # settings of fixes that change the rate
ALIKE = 0.6  # of the words of the shorter title
STEM = 6  # letters: 'normalised' and 'normalized' are one word
_SMALL_WORDS = frozenset({"is", "are", "the", "a", "an", "of", "for", "to", "and", "or", "in", "on", "with"})
_TELLING = ("always", "usually", "often")  # how often a cause shows what is worth looking for, the surest first


def checks(diagnosis: Diagnosis) -> list[tuple[Hypothesis, str]]:
    """Where the cause is unclear: the likeliest ones, each with how to find out whether it is that one ('' where
    nothing is known). Empty where one cause is clear, where there is nothing wrong and where nothing was measured."""
    if diagnosis.verdict == "healthy" or leading(diagnosis) is not None or unmeasured(diagnosis):
        return []
    if not _problem_seen(diagnosis):
        return []
    named = [h for h in diagnosis.hypotheses if h.cause not in (HEALTHY, OTHER)]
    well = sum(h.confidence for h in diagnosis.hypotheses if h.cause == HEALTHY) >= RATHER_WELL
    least = WORTH_NAMING if well and diagnosis.verdict != "unhealthy" else SMALL
    listed = [h for h in named if h.confidence >= least][:CHECKS]
    listed = listed or named[: diagnosis.verdict == "unhealthy"]
    known = causes()
    # a page's look-alikes say by what the other is recognised
    apart_by = {other.cause: known[other.cause].look_alikes for other in listed if other.cause in known}
    said: set[str] = set()
    found = []
    for h in listed:
        by_hand = known[h.cause].check if h.cause in known else ""
        apart = next((_of_this_one(apart[h.cause]) for apart in apart_by.values() if h.cause in apart), "")
        text = f"{CHECK}{by_hand}" if by_hand else f"{LOOK_FOR}{apart}" if apart else _to_look_for(diagnosis, h, said)
        said.add(text)
        found.append((h, text))
    return found


def _problem_seen(diagnosis: Diagnosis) -> bool:
    """Whether there is anything that needs a cause: a log that is short or still improving needs none."""
    from traindx.symptoms import symptoms  # brings numpy, which the help of the command line does without

    if diagnosis.verdict == "unhealthy" or diagnosis.run.format == ANSWERS:
        return True
    known = symptoms()
    return any(o.id not in known or known[o.id].severity == "problem" for o in diagnosis.present() if o.id not in ENDS)


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
    """What the course of this run says for a candidate besides its symptoms, '' where nothing does: for one that
    another learning rate would mend, the rate it had."""
    spelled = {symptom.evidence for symptom in diagnosis.symptoms}
    rate = next((text for text in diagnosis.figures if text.startswith(RATE)), "")
    if rate and hypothesis.fix is not None and hypothesis.fix.change.startswith(_OF_RATES):
        return clean(f"{rate[:1].lower()}{rate[1:]}")
    return next((f"for: {text}" for text in hypothesis.supports if text not in spelled), "")


def heading(found: list[tuple[Hypothesis, str]]) -> str:
    these = " these three" if len(found) == CHECKS else " these" if len(found) > 1 else ""
    return f"Cause unclear. Check{these}:"
