"""The engine: Run → Diagnosis. Pure: it reads no file and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from traindx.causes import causes
from traindx.diagnosis import ANSWERS, UNSURE, Curve, Diagnosis, Hypothesis, Observation, RunSummary, Verdict
from traindx.engine.advise import about, facts, missing, sources, suited_to_the_start
from traindx.engine.context import Hint
from traindx.engine.evidence import gather
from traindx.engine.figures import figures
from traindx.engine.fitted import INSIDE, level_of
from traindx.engine.rank import HEALTHY, OTHER, Ranked
from traindx.engine.sentences import REST, SCOPE, headline, next_step, of_death
from traindx.engine.together import secondary_causes, without_secondary
from traindx.fixes import fixes
from traindx.known import matching
from traindx.lines import line_of
from traindx.run import Floats, Run, Series
from traindx.shown_samples import samples_of
from traindx.signals import Settings, Signals
from traindx.signals.disguise import hidden_nan, mask, unmasked
from traindx.symptoms import symptoms
from traindx.token_samples import answers_of, batches_of
from traindx.version import __version__

SHOWN = 8  # explanations listed; the rest is summed into 'other'
MIN_SHOWN = 0.01
BENEFIT = 0.1  # one in ten sound: a log that shows no plain problem is not called ill before that
STRONG = 0.7  # clarity from which a problem speaks for itself
VERDICT_CLARITY = 0.65  # the same on a log: of 82 labelled sound ones none shows one so clear, but for those below
SETTLED = 0.9  # a fault this likely is acted on: no further evidence would change what to do
NEVER_WELL = (
    "flat-from-start",
    "loss-at-chance",
)  # whatever else was ruled out, a run that learnt nothing is not called healthy
NEVER_EARNED = ("reward-flat", "reward-falls")  # so is a policy that got nowhere, however weakly that shows
HALF = 0.5
# what shows that a training failed, whatever its cause
FAILS = (
    *NEVER_WELL,
    "divergence",
    "prediction-collapse",
    "val-at-chance",
    "outcome-poor",
    "reward-falls",
    "reward-flat",
)
# of the likeliest cause: of five open pages with less, of recordings that show no failure, two had it right
NAMED = 0.35
BELOW = 0.99  # of the likeliest cause, what health may have at most on a page that says unhealthy
TWO_TO_ONE = 2 / 3  # for health, where a look inside the training found a problem
DIED = "run-died"  # nobody can tell how it would have ended
ALSO_WELL = {
    REST,
    "suspiciously-good",
    "slow-convergence",
    "negative-loss",
    "high-initial-loss",
}  # what healthy runs show too
_HOW_LONG = frozenset({"too-short", "truncated", "still-improving"})
PICTURE_POINTS = 120

_SEEDS = "Returns differ much between seeds: three to five of them settle what one run cannot (Henderson et al. 2018)."
_ANSWERS_ONLY = "Nothing was measured: this rests on answers alone, so read it as where to look first."
_GAN_NOTE = "Adversarial training: generator and discriminator losses need not fall; only what should fall is judged."


def diagnose(
    run: Run, settings: Settings | None = None, reported: Sequence[Observation] = (), hinted: Sequence[Hint] = ()
) -> Diagnosis:
    """Look for every symptom, rank the explanations, propose the fix. `reported` and `hinted` are what somebody said
    about the run; it counts where nothing was measured."""
    signals = unmasked(Signals(run, settings))
    evidence = gather(signals, reported, hinted)
    observations, ranked = evidence.observations, evidence.ranked()
    verdict = decide(observations, ranked) if run.format != ANSWERS else "inconclusive"
    others = secondary_causes(evidence, ranked) if verdict == "unhealthy" else ()
    hypotheses = _hypotheses(signals, without_secondary(evidence, ranked, others), _elsewhere(observations))
    if verdict != "healthy":
        hypotheses = tuple(suited_to_the_start(_placed(one, run, observations), observations) for one in hypotheses)
    found = sources(
        signals, evidence, simulate=verdict != "healthy" and _unsettled(hypotheses), asked=bool(reported or hinted)
    )
    leading = next((h.cause for h in hypotheses if h.cause not in (HEALTHY, OTHER)), None)
    if verdict == "unhealthy" and leading is not None:
        found = about(found, leading)
    settled = verdict == "unhealthy" and any(
        h.confidence >= SETTLED for h in hypotheses if h.cause not in (HEALTHY, OTHER)
    )
    main = signals.main
    return Diagnosis(
        verdict=verdict,
        headline=headline(verdict, hypotheses, observations, signals) if run.format != ANSWERS else _ANSWERS_ONLY,
        run=RunSummary(
            run.source, run.format, run.name, run.steps,
            tuple(name for name, series in run.series.items() if len(series)),
            run.config, main.name if main is not None else None, tuple(run.lost), run.axis, chosen_by(signals),
        ),
        symptoms=tuple(_on_the_runs_axis(o, run) for o in _worth_listing(verdict, observations, hypotheses)),
        hypotheses=hypotheses,
        missing=() if settled else missing(signals, found),
        next=next_step(verdict, hypotheses, observations, signals, found),
        version=__version__,
        notes=(*_notes(signals), *_excused(observations)),
        curves=_pictures(signals),
        also=tuple(
            _placed(_hypothesis(one.cause, one.probability, one.supports, (), facts(signals)), run, observations)
            for one in others
        ),
        known_issues=matching(run, observations), figures=figures(signals), batches=batches_of(run.measured),
        answers=answers_of(run.measured),
        samples=samples_of(run.measured),
    )  # fmt: skip


def decide(observations: tuple[Observation, ...], ranked: list[Ranked]) -> Verdict:
    """The verdict, with the ranking brought in line with it."""
    verdict = judge(observations, ranked)
    if verdict == "unhealthy" or (verdict == "inconclusive" and _nothing_wrong(observations)):
        _only_supported(ranked, observations)
    if verdict == "unhealthy":
        _agree(ranked)
    return verdict


def judge(observations: tuple[Observation, ...], ranked: list[Ranked]) -> Verdict:
    """Unhealthy needs a problem that was seen; too little evidence is inconclusive, unless what was seen is conclusive
    whatever its cause (NaN that stays) or a fact seen directly settles it. A plain problem of a log carries the verdict
    too, however likely health is. No log is called healthy beside a problem on the same page, however unlikely every
    cause of it is: a detector that knows why its number does no harm reports it as absent, with the reason. A look
    inside the training that finds no cause may outweigh one."""
    known = symptoms()
    present = {observation.id: observation for observation in observations if observation.state == "present"}
    if _failed(present):
        return "unhealthy"
    healthy = next(entry.probability for entry in ranked if entry.cause == HEALTHY)
    seen_directly = any(known[i].direct and present[i].clarity >= STRONG for i in present if i in known)
    likeliest = max(entry.probability for entry in ranked if entry.cause not in (HEALTHY, OTHER))
    inside = level_of(observations) == INSIDE  # how often sound trainings show each symptom was counted there
    named = inside and likeliest >= HALF and healthy < BENEFIT  # what was seen inside needs no trend
    if "too-short" in present and not (seen_directly and healthy < HALF) and not named:
        return "inconclusive"
    problems = [observation for observation in present.values() if known[observation.id].severity == "problem"]
    plain = any(problem.clarity >= VERDICT_CLARITY and problem.id not in ALSO_WELL for problem in problems)
    if healthy >= HALF and inside:
        stuck = any(present[i].clarity >= HALF for i in FAILS if i in present)
        stuck = stuck or any(i in present for i in NEVER_EARNED)
        doubted = problems and (stuck or healthy < TWO_TO_ONE)
        return "inconclusive" if doubted or DIED in present else "healthy"
    if healthy >= HALF and not problems:
        return "inconclusive" if DIED in present or not _seen_to_move(observations) else "healthy"
    if inside and likeliest < NAMED and not any(i in present and present[i].clarity >= STRONG for i in FAILS):
        return "inconclusive"
    curves_alone = not any(known[i].direct for i in present if i in known)
    ahead = healthy > likeliest or (likeliest < NAMED and curves_alone)
    if healthy >= BENEFIT and ahead and not plain:
        return "inconclusive"
    return "unhealthy" if problems else "inconclusive"


def _seen_to_move(observations: Sequence[Observation]) -> bool:
    """Whether anything was seen to get better: silence of a piece of a log that stands still is no health."""
    states = {observation.id: observation.state for observation in observations}
    return states.get("flat-from-start") != "unknown" or states.get("still-improving") == "present"


def _failed(present: Mapping[str, Observation]) -> bool:
    """Whether something that was seen is conclusive by itself."""
    clear = {i for i, observation in present.items() if observation.clarity >= STRONG}
    broken = bool(clear & {"nonfinite-loss", "nonfinite-weight"})
    # steps that are skipped for ever write no loss at all
    skipped = "loss-scale-collapse" in clear and ("nonfinite-gradient" in clear or DIED in present)
    return broken or skipped or any(observation.conclusive for observation in present.values())


def _nothing_wrong(observations: Sequence[Observation]) -> bool:
    """No problem was seen: the log is short, or the run died."""
    known = symptoms()
    return not any(o.state == "present" and o.id in known and known[o.id].severity == "problem" for o in observations)


def _only_supported(ranked: list[Ranked], observations: Sequence[Observation]) -> None:
    """What was seen has a cause: one that nothing speaks for and that is only not ruled out (overfitting, where nothing
    was held out) explains none of it, and its share belongs to something else. So does one for which only the length of
    the log speaks."""
    how_long = {o.evidence for o in observations if o.id in _HOW_LONG}
    by_id = {entry.cause: entry for entry in ranked}
    for entry in ranked:
        unsupported = all(text in how_long for _, text in entry.supports)
        if entry.cause not in (HEALTHY, OTHER) and unsupported:
            by_id[OTHER].probability += entry.probability
            entry.probability = 0.0
    ranked.sort(key=lambda entry: -entry.probability)


def _agree(ranked: list[Ranked]) -> None:
    """No page says unhealthy while health leads its ranking: a problem that is plain was seen, whatever its cause, so
    that what health has beyond the likeliest cause belongs to something else."""
    by_id = {entry.cause: entry for entry in ranked}
    likeliest = max(entry.probability for entry in ranked if entry.cause not in (HEALTHY, OTHER))
    excess = by_id[HEALTHY].probability - likeliest * BELOW
    if excess > 0:
        by_id[HEALTHY].probability -= excess
        by_id[OTHER].probability += excess
        ranked.sort(key=lambda entry: -entry.probability)


def _worth_listing(
    verdict: Verdict, observations: Sequence[Observation], hypotheses: Sequence[Hypothesis]
) -> list[Observation]:
    """All but settings that speak for none of the explanations shown: they are no findings."""
    said = {text for h in hypotheses if h.cause != HEALTHY for text in h.supports} if verdict != "healthy" else set()
    known = symptoms()
    settings = {o.id for o in observations if o.id in known and known[o.id].kind == "setting"}
    return [o for o in observations if o.id not in settings or (o.state == "present" and o.evidence in said)]


def _on_the_runs_axis(observation: Observation, run: Run) -> Observation:
    """Without its place where that counts epochs in a run that counts steps: the sentence names it in its own unit."""
    series = run.series.get(observation.where or "")
    alike = series is None or series.axis == run.axis
    return observation if alike else replace(observation, steps=None)


def _pictures(signals: Signals) -> tuple[Curve, ...]:
    """What the verdict rests on first, then validation loss, score and training loss: whatever the verdict, best and
    last of each belong on the page. A number that stands for a NaN is no best value."""
    hidden = hidden_nan(signals)
    chosen = [
        c.series for c in (signals.main, signals.val, signals.score, signals.train) if c is not None and len(c.series)
    ]
    if hidden is not None:
        chosen = [mask(hidden) if series.name == hidden.series.name else series for series in chosen]
    return tuple(picture(series) for series in {series.name: series for series in chosen}.values())


def picture(series: Series) -> Curve:
    """A small picture of a series that keeps its spikes: lowest and highest value of each piece, in order."""
    count = len(series)
    if count <= PICTURE_POINTS:
        return _curve(series, series.steps, series.values)
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
    return _curve(series, series.steps[index], series.values[index])


def _curve(series: Series, steps: Floats, values: Floats) -> Curve:
    return Curve(series.name, tuple(steps.tolist()), tuple(values.tolist()), series.axis, series.meaning.goal)


def _hypotheses(signals: Signals, ranked: list[Ranked], elsewhere: frozenset[str]) -> tuple[Hypothesis, ...]:
    """`elsewhere`: other mistakes that were seen; they stand among the symptoms and do not speak against a likely
    cause."""
    reported = facts(signals)
    shown: list[Hypothesis] = []
    rest = 0.0
    for entry in ranked:
        if entry.cause == OTHER:
            rest += entry.probability
            continue
        if len(shown) >= SHOWN or entry.probability < MIN_SHOWN:
            rest += entry.probability
            continue
        supports = tuple(dict.fromkeys(text for _, text in entry.supports))[:4]
        secondary_causes = elsewhere if entry.probability >= UNSURE else frozenset()
        contradicts = tuple(text for _, text in entry.contradicts if text not in secondary_causes)[:3]
        shown.append(_hypothesis(entry.cause, entry.probability, supports, contradicts, reported))
    shown.append(Hypothesis(OTHER, "something else", rest))
    return tuple(sorted(shown, key=lambda hypothesis: (hypothesis.cause == OTHER, -hypothesis.confidence)))


def _elsewhere(observations: Sequence[Observation]) -> frozenset[str]:
    """Mistakes that were seen directly, as sentences."""
    known = symptoms()
    return frozenset(o.evidence for o in observations if o.state == "present" and o.id in known and known[o.id].direct)


def _hypothesis(
    identifier: str,
    probability: float,
    supports: tuple[str, ...],
    contradicts: tuple[str, ...],
    reported: Mapping[str, str],
) -> Hypothesis:
    """One explanation with its fixes, filled with what is known of the run."""
    cause = causes()[identifier]
    remedies = fixes()
    proposals = tuple(remedies[fix].proposal(reported) for fix in cause.fixes)
    return Hypothesis(
        identifier, cause.title, probability, supports, contradicts, proposals[0] if proposals else None, proposals[1:],
        cause.do_not, f"docs/causes/{identifier}.md", category=cause.group if cause.id != HEALTHY else "",
    )  # fmt: skip


def _placed(hypothesis: Hypothesis, run: Run, observations: Sequence[Observation]) -> Hypothesis:
    """With the line to change, where the recording tells it."""
    cause = causes().get(hypothesis.cause)
    if cause is None or not run.measured:
        return hypothesis
    seen = [one for one in observations if one.state == "present" and one.evidence in hypothesis.supports]
    return replace(hypothesis, where=line_of(cause.line, run.measured, seen))


def _unsettled(hypotheses: tuple[Hypothesis, ...]) -> bool:
    """No fault is likely enough to act on."""
    return all(h.confidence < UNSURE for h in hypotheses if h.cause not in (HEALTHY, OTHER))


def chosen_by(signals: Signals) -> str:
    """Why the objective is the objective, in words."""
    if signals.main is None:
        return ""
    if signals.settings.metric:
        return "as asked for"
    if signals.trainer is not None:
        return f"read as {signals.trainer.title}"
    return "chosen by its name"


def judged_by(signals: Signals) -> list[str]:
    """Which series the verdict rests on and what is normal there, where that is not simply the loss."""
    main, trainer = signals.main, signals.trainer
    plain = signals.kind == "supervised" and (trainer is None or trainer.task == "supervised")
    if main is None or plain or signals.kind == "gan":
        return []
    better = f"Judged by {main.name}, {'higher' if main.sign < 0 else 'lower'} is better ({chosen_by(signals)})."
    seeds = (_SEEDS,) if signals.kind == "rl" else ()  # of all notes this one is shortened last
    return [" ".join([better, *seeds, *(trainer.normal if trainer is not None else ())])]


def _excused(observations: Sequence[Observation]) -> tuple[str, ...]:
    """Numbers that look like a problem and are none here, with the reason."""
    return tuple(f"Not a problem ({o.id}): {o.evidence}" for o in observations if o.state == "absent" and o.noted)


def _notes(signals: Signals) -> tuple[str, ...]:
    run = signals.run
    notes = [what for event in run.events if event.kind in SCOPE for what in SCOPE[event.kind]]
    notes += list(of_death(run))[:1]
    if run.died is not None and run.last_lines:
        notes.append(f"The last lines: {' | '.join(run.last_lines)}")
    notes += judged_by(signals)
    if signals.kind == "gan":
        notes.append(_GAN_NOTE)
    notes += [f"Resumed: the log {event.text}." for event in run.events if event.kind == "restart"]
    notes += [f"Not read: {sentence}" for sentence in run.lost]
    notes += [f"Same training as {run.source}, left out as a copy: {copy}." for copy in run.copies]
    return tuple(dict.fromkeys(notes))
