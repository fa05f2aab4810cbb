"""The first and the last sentence of the page: what is wrong, and the one thing to do next."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from traindx import commands
from traindx.causes import causes
from traindx.diagnosis import (
    ANSWERS,
    STANDS_OUT,
    UNSURE,
    WORTH_A_LINE,
    WORTH_NAMING,
    Hypothesis,
    Observation,
    Verdict,
)
from traindx.engine.advise import command, settle
from traindx.engine.next_evidence import Gain
from traindx.engine.rank import HEALTHY, OTHER
from traindx.engine.ways import WAYS
from traindx.fixes import fixes
from traindx.run import PROBES, Run
from traindx.signals import Signals, lookup
from traindx.symptoms import symptoms
from traindx.symptoms.too_short import POINTS

REST = "plateau"  # a training that has converged ends so too
SHORT = "too-short"
RATE_PROBE, RATE = "lr-range", "probe.lr"  # the probe and the setting it records where it can suggest a rate
ANOTHER = 5.0  # times: a suggested rate that is closer to the own one says nothing
CUT = "truncated"
DIED = "run-died"
IMPROVING = "still-improving"
RARELY = 100  # steps for one logged value: a log that could tell more of the same run
CANDIDATES, WITH_A_LEADER = 3, 2  # how many, and how many where one leads

# what is no problem of learning, and what to do about it
SCOPE: Mapping[str, tuple[str, str]] = {
    "oom": ("Out of GPU memory is an infrastructure problem, not a learning one.",
            "Halve the batch and accumulate gradients, or look at torch.cuda.memory_summary()."),
    "dataloader": ("A data-loader crash is an infrastructure problem.",
                   "Run once with num_workers=0 to see the real error."),
}  # fmt: skip

# what ended a run, by its words, and what to do about it
DEATHS: tuple[tuple[str, str], ...] = (
    (r"nccl|collective|watchdog|ProcessGroup",
     "One rank waited for the others in vain: look in the logs of all ranks for the first error, and whether one of "
     "them has fewer batches. TORCH_DISTRIBUTED_DEBUG=DETAIL and TORCH_NCCL_TRACE_BUFFER_SIZE=2000 name the "
     "collective."),
    (r"device-side assert|CUBLAS_STATUS|illegal memory access",
     "The GPU reports errors late: CUDA_LAUNCH_BLOCKING=1 shows the line. Labels or token ids beyond the last class "
     "are the usual reason."),
    (r"no space left|disk quota", "The disk is full: remove old checkpoints, or keep fewer (save_total_limit)."),
    (r"time limit|walltime|preempt|evict",
     "The scheduler ended it: save checkpoints more often than its limit, and resume."),
)  # fmt: skip


def headline(
    verdict: Verdict, hypotheses: Sequence[Hypothesis], observations: Sequence[Observation], signals: Signals
) -> str:
    """What is the matter, in one sentence: of an ill run the plainest problem that the cause named first rests on."""
    known = symptoms()
    if verdict == "healthy":
        return "No problem found."
    present = [observation for observation in observations if observation.state == "present"]
    problems = [o for o in present if known[o.id].severity == "problem"]
    if verdict == "inconclusive":
        died = next((o.evidence for o in present if o.id == DIED), None)
        if died is not None:
            return died
        short = [o.evidence for o in present if o.id in (SHORT, CUT)]
        plainest = max(problems, key=lambda o: o.clarity, default=None)
        if _at_rest(observations) and plainest is not None and plainest.id == REST:
            return f"{plainest.evidence} Converged or stuck, this evidence cannot tell."
        if short and problems and run_of_probes(signals):
            return "The probes point to the cause below; a run would show whether the training suffers from it."
        if short:
            return short[0]
        if plainest is not None:
            return f"{plainest.evidence} Possible {' and '.join(o.id for o in problems)}, but too weak to be sure."
        return "Nothing wrong was seen, and too little could be measured to call it healthy."
    top = next((h for h in hypotheses if h.cause not in (HEALTHY, OTHER)), None)
    its_own = [o for o in problems if top is not None and o.evidence in top.supports]
    return max(its_own or problems, key=lambda o: o.clarity / known[o.id].background).evidence


def next_step(
    verdict: Verdict,
    hypotheses: Sequence[Hypothesis],
    observations: Sequence[Observation],
    signals: Signals,
    found: Sequence[Gain],
) -> str:
    """What to do now, as a command where there is one."""
    run = signals.run
    if verdict == "healthy":
        return "Nothing to fix. Keep the run."
    if verdict == "inconclusive":
        return _open(hypotheses, observations, signals, found)
    top = next((h for h in hypotheses if h.cause not in (HEALTHY, OTHER)), None)
    if top is None or top.fix is None:
        return _where_it_happens(observations, signals)
    unsettled = top.confidence < UNSURE
    if unsettled and top.confidence >= STANDS_OUT and _harmless(top, found):
        return _harmless(top, found)
    if unsettled and found:
        return f"Don't change anything yet. {settle(found[0], signals, _candidates(hypotheses))}"
    if unsettled:
        why = commands.typed(commands.WHY, source=run.source, cause=top.cause)
        return f"Not certain yet: `{why}` says what would have to be seen."
    script = str(run.config.get("recording.script") or "")
    details = commands.typed(commands.EXPLAIN, cause=top.cause)
    if (
        script.endswith(".py")
        and not script.startswith("/")
        and any(fixes()[fix].tries for fix in causes()[top.cause].fixes)
    ):
        fix = commands.typed(commands.FIX, script=script)
        return f"Run `{fix}` to test this fix on a copy and get a diff. Details: `{details}`"
    return f"{top.fix.title}; then compare a short run with this one. Details: `{details}`"


def of_death(run: Run) -> Iterator[str]:
    """What to do about what ended the run, where its words tell."""
    if run.died is not None:
        yield from (do for kind, (_, do) in SCOPE.items() if kind in {run.died.kind, *(e.kind for e in run.events)})
        yield from (do for words, do in DEATHS if re.search(words, run.died.text, re.IGNORECASE))


def _candidates(hypotheses: Sequence[Hypothesis], least: float = WORTH_A_LINE) -> tuple[str, ...]:
    """The causes that the page names: no other one is of use in its last line."""
    named = [h.cause for h in hypotheses if h.cause not in (HEALTHY, OTHER) and h.confidence >= least]
    leads = next((h.confidence >= STANDS_OUT for h in hypotheses if h.cause in named), False)
    return tuple(named[: WITH_A_LEADER if leads else CANDIDATES])


def _harmless(top: Hypothesis, found: Sequence[Gain]) -> str:
    """To do at once where the next evidence would not settle the cause and its fix changes nothing that works."""
    decides = bool(found) and top.cause in found[0].decides
    if decides or top.fix is None or top.fix.safety != "safe":
        return ""
    return f"{top.fix.title}: it does no harm if the cause is another one. How: `traindx explain {top.fix.id}`"


def _where_it_happens(observations: Sequence[Observation], signals: Signals) -> str:
    """No cause to act on: where to look, and with what."""
    plot = commands.typed(commands.PLOT_RUN, source=signals.run.source)
    known = symptoms()
    seen = [o for o in observations if o.state == "present" and known[o.id].severity == "problem" and o.steps]
    place = next((o.steps[0] for o in sorted(seen, key=lambda o: -o.clarity) if o.steps), None)
    if place is None:
        return f"`{plot}` shows where it happens."
    return f"Look at what changed around {signals.run.axis} {place:g} (`{plot}` draws it)."


def _open(
    hypotheses: Sequence[Hypothesis], observations: Sequence[Observation], signals: Signals, found: Sequence[Gain]
) -> str:
    """What would settle a run that is neither well nor ill yet. More of the same helps only where there was too little
    of it."""
    run = signals.run
    if run.died is not None:
        killed = "Find out what ended it (memory, a time limit, somebody), then run it to its end and diagnose again."
        other = killed if run.died.kind == "killed" else "Fix the crash first, then diagnose the next log."
        return next(of_death(run), other)
    if run.format == "checkpoint":
        return f"Give the course of the training as well: {commands.DIAGNOSE_LOG}, or {commands.ADD_CHECKPOINT}."
    if run_of_probes(signals):
        return f"{_probed(observations, signals)}. `{command(WAYS[0], signals)}` shows how it trains."
    if run.format == ANSWERS and found:
        return settle(found[0], signals, _candidates(hypotheses))
    if _at_rest(observations):
        return _converged_or_stuck(signals)
    if any(o.id == SHORT and o.state == "present" for o in observations):
        return _longer(signals)
    return _what_would_help(hypotheses, observations, signals, found)


def _what_would_help(
    hypotheses: Sequence[Hypothesis], observations: Sequence[Observation], signals: Signals, found: Sequence[Gain]
) -> str:
    """Of a log that is long enough and ended by itself."""
    if _still_improving(observations, signals) and signals.main is not None:
        return f"Let it train on: {signals.main.name} was still improving when the log ended."
    among = _candidates(hypotheses, WORTH_NAMING)
    top = next((h for h in hypotheses if h.cause in _candidates(hypotheses)), None)
    spoken_for = top is not None and any(o.state == "present" and o.evidence in top.supports for o in observations)
    harmless = _harmless(top, found) if top is not None and spoken_for else ""
    by_hand = causes()[among[0]].check if among else ""
    if not harmless and by_hand and not any(cause in among for gain in found[:1] for cause in gain.decides):
        return f"Find out by hand whether it is {among[0]}: {by_hand}."  # no command would tell
    if harmless or found:
        return harmless or settle(found[0], signals, among, well=True)
    plot = commands.typed(commands.PLOT_RUN, source=signals.run.source)
    return f"`{plot}` shows its curves; nothing else that could be measured would settle it."


def _still_improving(observations: Sequence[Observation], signals: Signals) -> bool:
    """Whether all that was seen is that it had not finished."""
    known = symptoms()
    present = {o.id for o in observations if o.state == "present"}
    return IMPROVING in present and not any(known[one].severity == "problem" for one in present)


def _converged_or_stuck(signals: Signals) -> str:
    """What tells a finished training from one that no longer learns."""
    if signals.kind == "rl":
        return (
            "Compare the level with what solves the task, and train two more seeds: a policy that has learnt the task "
            "rests like this too."
        )
    sanity = next(way for way in WAYS if way.id == "sanity")
    return (
        f"`{command(sanity, signals)}` (PyTorch) tells the two apart: it sees whether the model can fit a single batch."
    )


def _probed(observations: Sequence[Observation], signals: Signals) -> str:
    """What the probes said, in a few words."""
    known, run = symptoms(), signals.run
    if any(o.state == "present" and o.id in known and known[o.id].severity == "problem" for o in observations):
        return "What the probes saw is above"
    if _another_rate(signals):
        return f"The probes name no fault, but another learning rate: {_another_rate(signals)}"
    if RATE_PROBE in str(run.config[PROBES]).split(", ") and RATE not in run.config:
        return "The probes name no cause, but found no learning rate to suggest either, which is no good sign"
    return "The probes found nothing wrong"


def run_of_probes(signals: Signals) -> bool:
    """Whether the model was probed and no training was seen."""
    return signals.main is None and bool(signals.run.config.get(PROBES))


def _another_rate(signals: Signals) -> str:
    """The suggested rate beside the script's own, where they are far apart; '' else."""
    given = signals.run.config.get(RATE)
    suggested = float(given) if isinstance(given, int | float) else 0.0
    own = lookup.number(signals.run.config, "lr")
    if not suggested or not own or max(suggested / own, own / suggested) < ANOTHER:
        return ""
    return f"about {suggested:.2g} instead of {own:.3g}"


def _longer(signals: Signals) -> str:
    """What to do about a log that is too short to judge."""
    values = 0 if signals.main is None else len(signals.main.series)
    again = "and diagnose again"
    if signals.main is None or not values:
        return (
            f"Log the training loss {again}; `{command(WAYS[0], signals)}` (PyTorch) records it "
            f"without a change of code."
        )
    if signals.run.axis == "step" and signals.run.steps >= RARELY * values:
        return f"Log {signals.main.name} more often ({values} values in {signals.run.steps} steps) {again}."
    if signals.kind == "rl":
        return f"Let it run on, or log {signals.main.name} more often, {again}."
    if values < POINTS:
        return f"Let it run on (at least {POINTS} values of the loss, better a few epochs) {again}."
    return f"Let it run on for a few epochs {again}."


def _at_rest(observations: Sequence[Observation]) -> bool:
    """Long enough to tell, and ended where a finished training ends too."""
    present = {observation.id for observation in observations if observation.state == "present"}
    return REST in present and not present & {SHORT, CUT}
