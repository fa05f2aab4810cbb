"""What to check where no cause may be called the likeliest."""

from __future__ import annotations

from traindx.causes import causes
from traindx.diagnosis import ANSWERS, WORTH_NAMING, Diagnosis, Hypothesis
from traindx.reporters.wording import ENDS, HEALTHY, OTHER, SMALL, clean, ended, leading, unmeasured

CHECKS = 3  # candidates
CHECK = "check: "
RATE = "Learning rate: "  # how the figure of the rate begins (engine/figures.py)
USUALLY = "usually"  # in that figure where the rate lies outside of what is usual
_OF_RATES = ("lr", "scheduler", "warmup")  # settings of fixes that change the rate


def checks(diagnosis: Diagnosis) -> list[tuple[Hypothesis, str]]:
    """Where the cause is unclear: the likeliest ones, each with how to find out whether it is that one ('' where
    nobody knows). Empty where one cause is clear, where there is nothing wrong, where nothing was measured and where
    the answer is what ended the run. A guess below one in ten is worth a line only where something is surely wrong."""
    if diagnosis.verdict == "healthy" or leading(diagnosis) is not None or unmeasured(diagnosis) or ended(diagnosis):
        return []
    if not _problem_seen(diagnosis):
        return []
    named = [h for h in diagnosis.hypotheses if h.cause not in (HEALTHY, OTHER)]
    least = SMALL if diagnosis.verdict == "unhealthy" or diagnosis.run.format == ANSWERS else WORTH_NAMING
    listed = [h for h in named if h.confidence >= least][:CHECKS]
    listed = listed or named[: diagnosis.verdict == "unhealthy"]
    known = causes()
    by_hand = {h.cause: known[h.cause].check if h.cause in known else "" for h in listed}
    return [(h, f"{CHECK}{by_hand[h.cause]}" if by_hand[h.cause] else "") for h in listed]


def _problem_seen(diagnosis: Diagnosis) -> bool:
    """Whether there is anything that needs a cause: a log that is short or still improving needs none."""
    from traindx.symptoms import symptoms  # brings numpy, which the help of the command line does without

    if diagnosis.verdict == "unhealthy" or diagnosis.run.format == ANSWERS:
        return True
    known = symptoms()
    return any(o.id not in known or known[o.id].severity == "problem" for o in diagnosis.present() if o.id not in ENDS)


def context(diagnosis: Diagnosis, hypothesis: Hypothesis) -> str:
    """What the course of this run says for a candidate besides its symptoms, '' where nothing does: for one that
    another learning rate would mend, a rate that is not usual."""
    spelled = {symptom.evidence for symptom in diagnosis.symptoms}
    rate = next((text for text in diagnosis.figures if text.startswith(RATE) and USUALLY in text), "")
    if rate and hypothesis.fix is not None and hypothesis.fix.change.startswith(_OF_RATES):
        return clean(f"{rate[:1].lower()}{rate[1:]}")
    return next((f"for: {text}" for text in hypothesis.supports if text not in spelled), "")


def heading(found: list[tuple[Hypothesis, str]]) -> str:
    these = " these three" if len(found) == CHECKS else " these" if len(found) > 1 else ""
    return f"Cause unclear. Check{these}:"
