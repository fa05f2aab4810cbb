"""The engine: Run → Diagnosis. Pure: it reads no file and changes nothing."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from traindx.causes import causes
from traindx.diagnosis import UNSURE, Curve, Diagnosis, Hypothesis, Observation, RunSummary, Verdict
from traindx.engine.advise import command, facts, missing, settle, sources
from traindx.engine.context import Hint
from traindx.engine.evidence import ANSWERS, gather
from traindx.engine.next_evidence import Gain
from traindx.engine.rank import HEALTHY, OTHER, Ranked
from traindx.engine.together import second
from traindx.engine.ways import WAYS
from traindx.engine.words import DIRECT
from traindx.fixes import fixes
from traindx.run import PROBES, Run, Series
from traindx.signals import Settings, Signals
from traindx.symptoms import symptoms
from traindx.version import __version__

SHOWN = 8  # explanations listed; the rest is summed into 'other'
LEAST = 0.01
BENEFIT = 0.2  # a run that is healthier than anything else it could be is not called ill
PLAIN = 0.7  # clarity from which a problem speaks for itself
REST = "plateau"  # a training that has converged ends so too
ALSO_WELL = {
    REST,
    "suspiciously-good",
    "slow-convergence",
    "negative-loss",
    "high-initial-loss",
}  # what healthy runs show too
PICTURE_POINTS = 120

_SCOPE = {
    "oom": "Out of GPU memory is an infrastructure problem, not a learning one: halve the batch and accumulate gradients, "
    "or look at torch.cuda.memory_summary().",
    "dataloader": "A data-loader crash is an infrastructure problem: run once with num_workers=0 to see the real error.",
}
_RL_NOTE = (
    "Reinforcement learning: judged by the return, higher is better. Reward design and exploration are out of scope here; "
    "check the environment and the reward first."
)
_TOLD = "Nothing was measured: this rests on answers alone, so read it as where to look first."
_GAN_NOTE = "Adversarial training: generator and discriminator losses need not fall; only what should fall is judged."


def diagnose(
    run: Run, settings: Settings | None = None, told: Sequence[Observation] = (), hinted: Sequence[Hint] = ()
) -> Diagnosis:
    """Look for every symptom, rank the explanations, propose the fix. `told` and `hinted` are what somebody said about the
    run; it counts where nothing was measured."""
    signals = Signals(run, settings)
    evidence = gather(signals, told, hinted)
    observations, ranked = evidence.observations, evidence.ranked()
    verdict = judge(observations, ranked) if run.format != ANSWERS else "inconclusive"
    beside = second(observations, evidence.hints, ranked, evidence.unfamiliar) if verdict == "unhealthy" else None
    hypotheses = _hypotheses(signals, ranked, verdict, _elsewhere(observations))
    found = sources(
        signals, evidence, simulate=verdict != "healthy" and _unsettled(hypotheses), asked=bool(told or hinted)
    )
    main = signals.main
    return Diagnosis(
        verdict=verdict,
        headline=_headline(verdict, observations) if run.format != ANSWERS else _TOLD,
        run=RunSummary(
            run.source, run.format, run.name, run.steps, tuple(name for name, series in run.series.items() if len(series)),
            run.config, main.name if main is not None else None, tuple(run.lost), run.axis,
        ),
        symptoms=observations,
        hypotheses=hypotheses,
        missing=missing(signals, found),
        next=_next(verdict, hypotheses, observations, signals, found),
        version=__version__,
        notes=_notes(signals),
        curves=tuple(picture(curve.series) for curve in (main, signals.val) if curve is not None and len(curve.series)),
        also=() if beside is None else (_hypothesis(beside.cause, beside.probability, beside.supports, (), facts(signals)),),
    )  # fmt: skip


def judge(observations: tuple[Observation, ...], ranked: list[Ranked]) -> Verdict:
    """Unhealthy needs a problem that was seen; too little evidence is inconclusive, unless NaN or a fact seen directly
    settles it."""
    known = symptoms()
    present = {observation.id: observation for observation in observations if observation.state == "present"}
    broken = [present[i] for i in ("nonfinite-loss", "nonfinite-weight") if i in present]
    if any(observation.clarity >= 0.7 for observation in broken):
        return "unhealthy"
    healthy = next(entry.probability for entry in ranked if entry.cause == HEALTHY)
    seen_directly = any(known[i].background <= DIRECT and present[i].clarity >= 0.7 for i in present if i in known)
    if "too-short" in present and not (seen_directly and healthy < 0.5):
        return "inconclusive"
    if healthy >= 0.5:
        return "healthy"
    likeliest = max(entry.probability for entry in ranked if entry.cause not in (HEALTHY, OTHER))
    problems = [observation for observation in present.values() if known[observation.id].severity == "problem"]
    plain = any(problem.clarity >= PLAIN and problem.id not in ALSO_WELL for problem in problems)
    if healthy >= BENEFIT and healthy > likeliest and not plain:
        return "inconclusive"
    return "unhealthy" if problems else "inconclusive"


def picture(series: Series) -> Curve:
    """A small picture of a series that keeps its spikes: lowest and highest value of each piece, in order."""
    count = len(series)
    if count <= PICTURE_POINTS:
        return Curve(series.name, tuple(series.steps.tolist()), tuple(series.values.tolist()))
    edges = np.linspace(0, count, PICTURE_POINTS // 2 + 1).astype(int)
    keep: list[int] = []
    for low, high in pairwise(edges):
        piece = series.values[low:high]
        bad = np.flatnonzero(~np.isfinite(piece))
        if len(bad):
            keep.append(low + int(bad[0]))
        if len(bad) < len(piece):
            keep += [low + int(np.nanargmin(piece)), low + int(np.nanargmax(piece))]
    index = np.unique([0, *keep, count - 1])  # the last value is what 'now' means
    return Curve(series.name, tuple(series.steps[index].tolist()), tuple(series.values[index].tolist()))


def _hypotheses(
    signals: Signals, ranked: list[Ranked], verdict: Verdict, elsewhere: frozenset[str]
) -> tuple[Hypothesis, ...]:
    """`elsewhere`: other mistakes that were seen; they stand among the symptoms and do not speak against a likely cause."""
    told = facts(signals)
    shown: list[Hypothesis] = []
    rest = 0.0
    for entry in ranked:
        if entry.cause == OTHER:
            rest += entry.probability
            continue
        if len(shown) >= SHOWN or entry.probability < LEAST:
            rest += entry.probability
            continue
        supports = tuple(dict.fromkeys(text for _, text in entry.supports))[:4]
        beside = elsewhere if entry.probability >= UNSURE else frozenset()
        contradicts = tuple(text for _, text in entry.contradicts if text not in beside)[:3]
        shown.append(_hypothesis(entry.cause, entry.probability, supports, contradicts, told))
    shown.append(Hypothesis(OTHER, "something else", rest))
    return tuple(sorted(shown, key=lambda hypothesis: (hypothesis.cause == OTHER, -hypothesis.confidence)))


def _elsewhere(observations: Sequence[Observation]) -> frozenset[str]:
    """Mistakes that were seen directly, as sentences."""
    known = symptoms()
    return frozenset(
        o.evidence for o in observations if o.state == "present" and o.id in known and known[o.id].background <= DIRECT
    )


def _hypothesis(
    identifier: str,
    probability: float,
    supports: tuple[str, ...],
    contradicts: tuple[str, ...],
    told: Mapping[str, str],
) -> Hypothesis:
    """One explanation with its fixes, filled with what is known of the run."""
    cause = causes()[identifier]
    remedies = fixes()
    proposals = tuple(remedies[fix].proposal(told) for fix in cause.fixes)
    return Hypothesis(
        identifier, cause.title, probability, supports, contradicts, proposals[0] if proposals else None, proposals[1:],
        cause.do_not, f"docs/causes/{identifier}.md",
    )  # fmt: skip


def _headline(verdict: Verdict, observations: tuple[Observation, ...]) -> str:
    known = symptoms()
    if verdict == "healthy":
        return "No problem found."
    present = [observation for observation in observations if observation.state == "present"]
    if verdict == "inconclusive":
        why = [o.evidence for o in present if o.id in ("too-short", "truncated")]
        if _at_rest(observations):
            return "The loss has come to rest: converged or stuck, this evidence cannot tell."
        return why[0] if why else "The evidence does not settle it."
    problems = [o for o in present if known[o.id].severity == "problem"]
    return max(problems, key=lambda o: o.clarity / known[o.id].background).evidence


def _at_rest(observations: tuple[Observation, ...]) -> bool:
    """Long enough to tell, and ended where a finished training ends too."""
    present = {observation.id for observation in observations if observation.state == "present"}
    return REST in present and not present & {"too-short", "truncated"}


def _unsettled(hypotheses: tuple[Hypothesis, ...]) -> bool:
    """No fault is likely enough to act on."""
    return all(h.confidence < UNSURE for h in hypotheses if h.cause not in (HEALTHY, OTHER))


def _next(
    verdict: Verdict,
    hypotheses: tuple[Hypothesis, ...],
    observations: tuple[Observation, ...],
    signals: Signals,
    found: Sequence[Gain],
) -> str:
    run = signals.run
    if verdict == "healthy":
        return "Nothing to fix. Keep the run."
    if verdict == "inconclusive":
        if any(event.kind in _SCOPE or event.kind == "traceback" for event in run.events):
            return "Fix the crash first, then diagnose the next log."
        if run.format == "checkpoint":
            return "Give the course of the training as well: traindx diagnose LOG, or traindx checkpoint … --add-to RUN.traindx."
        if signals.main is None and run.config.get(PROBES):
            return f"The probes found nothing wrong. `{command(WAYS[0], signals)}` shows how it trains."
        if run.format == ANSWERS and found:
            return settle(found[0], signals)
        if _at_rest(observations):
            return "`traindx sanity train.py` (PyTorch) tells the two apart: it sees whether the model can fit a single batch."
        return "Let it run on (at least five values of the loss, better a few epochs) and diagnose again."
    top = next((h for h in hypotheses if h.cause not in (HEALTHY, OTHER)), None)
    if top is None or top.fix is None:
        return "traindx plot shows where it happens."
    if top.confidence < UNSURE and found:
        return f"Change nothing yet. {settle(found[0], signals)}"
    if top.confidence < UNSURE:
        return f"Not certain yet: `traindx explain --why {shlex.quote(run.source)} {top.cause}` says what would have to be seen."
    script = str(run.config.get("recording.script") or "")
    if (
        script.endswith(".py")
        and not script.startswith("/")
        and any(fixes()[fix].tries for fix in causes()[top.cause].fixes)
    ):
        return f"`traindx fix {shlex.quote(script)}` tries it on copies and gives the diff if it helps. Details: traindx explain {top.cause}"
    return f"{top.fix.title}; then compare a short run with this one. Details: traindx explain {top.cause}"


def _notes(signals: Signals) -> tuple[str, ...]:
    notes = [_SCOPE[event.kind] for event in signals.run.events if event.kind in _SCOPE]
    if signals.kind == "rl":
        notes.append(_RL_NOTE)
    if signals.kind == "gan":
        notes.append(_GAN_NOTE)
    notes += [f"Resumed: the log {event.text}." for event in signals.run.events if event.kind == "restart"]
    notes += [f"Not read: {sentence}" for sentence in signals.run.lost]
    return tuple(dict.fromkeys(notes))
