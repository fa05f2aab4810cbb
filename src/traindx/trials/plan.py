"""Which fixes to try, in which order: those of the likeliest causes first, and of each cause the least disruptive
first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from traindx.causes import causes
from traindx.diagnosis import Diagnosis, Safety
from traindx.fixes import fixes
from traindx.fixes.base import Judged
from traindx.symptoms import symptoms
from traindx.trials.editing import Evidence, edited
from traindx.trials.setting import Setting, at_run_time, combined
from traindx.trials.strength import at

LEAST_LIKELY = 0.03  # a cause less probable than this is not worth a trial
LATER = 0.6  # what each place in a cause's list of fixes takes off
UNWRITTEN = 0.8  # of the weight of a change that no edit can make: the script may hold nothing for it to change
MOST_BY_HAND = 2
EXCUSED = ("healthy", "other")
# settings that mean something only before the first update
AT_THE_START = frozenset({"init", "bias", "epochs", "norm", "residual"})


@dataclass(frozen=True)
class Candidate:
    """One change worth a trial. `edits` holds the changed sources where the change can be written into the script."""

    fix: str
    title: str
    cause: str
    settings: tuple[Setting, ...]
    clears: tuple[str, ...] = ()
    proofs: tuple[str, ...] = ()  # those of them that are the fault itself, seen directly
    edits: Mapping[str, str] = field(default_factory=dict)
    judged: Judged = "error"
    safety: Safety = "safe"
    rank: int = 0
    weight: float = 1.0
    on: Candidate | None = None  # the change, shown to help before, that this one is made on top of

    @property
    def change(self) -> str:
        return " + ".join(map(str, self.whole))

    @property
    def chain(self) -> tuple[Candidate, ...]:
        """All changes that are made together, in the order in which they were shown to help; this one is the last."""
        return (*(self.on.chain if self.on is not None else ()), self)

    @property
    def whole(self) -> tuple[Setting, ...]:
        """What is set by all of them."""
        return tuple(setting for one in self.chain for setting in one.settings)

    @property
    def sources(self) -> Mapping[str, str]:
        """The changed sources that an arm runs: an edit is made in what the one before has left."""
        return self.edits or (self.on.sources if self.on is not None else {})

    @property
    def inside(self) -> tuple[Setting, ...]:
        """What is left to be changed while the training runs."""
        return tuple(setting for one in self.chain if not one.edits for setting in one.settings)

    @property
    def written(self) -> Mapping[str, str]:
        """What can be proposed as a diff: edits without a gap from the first change on, since nothing else was tried
        without the others."""
        if self.on is None or not self.on.written:
            return self.edits if self.on is None else {}
        return self.edits or self.on.written


@dataclass(frozen=True)
class Manual:
    """A fix that only its owner can make."""

    fix: str
    title: str
    cause: str
    code: str
    where: str | None


def plan(
    page: Diagnosis, root: Path, script: Path | None, arguments: Sequence[str], steps: int, on: Candidate | None = None
) -> list[Candidate]:
    """Every change worth a trial, the most promising first; no change twice. `on`: the one that they are made on top
    of."""
    evidence, found = Evidence.of(page), dict[tuple[Setting, ...], Candidate]()
    stated = {"steps": str(max(steps, 1)), "warmup": str(max(10, steps // 20))}
    for cause, confidence in _worth_a_trial(page):
        proofs = (
            proofs_of(cause) if confidence > LEAST_LIKELY else ()
        )  # what is not plain is no fault whose going is help
        for rank, identifier in enumerate(causes()[cause].fixes):
            fix = fixes()[identifier]
            for place, text in enumerate(fix.tries):
                for name, value in stated.items():
                    text = text.replace("{" + name + "}", value)
                settings = combined(text)
                weight = confidence * LATER**rank * 0.9**place
                known = found.get(settings)
                if known is not None and known.weight >= weight:
                    continue
                edits = _edits(root, script, settings, evidence, arguments, on)
                if edits is None and not at_run_time(settings):
                    continue
                found[settings] = Candidate(
                    identifier, fix.title, cause, settings, wanted_by(cause, fix.clears), proofs, edits or {},
                    fix.judged_by, fix.safety, rank, weight, on,
                )  # fmt: skip
    return sorted(found.values(), key=lambda candidate: -candidate.weight * (1.0 if candidate.edits else UNWRITTEN))


def _worth_a_trial(page: Diagnosis) -> Iterator[tuple[str, float]]:
    """Causes with their confidence: likely ones, mistakes that were seen beside the first, and last those whose own
    sign was seen, but not plainly enough to be likely. A trial tells more of these than anything else."""
    stated = {h.cause: h.confidence for h in (*page.hypotheses, *page.also) if h.confidence >= LEAST_LIKELY}
    there = {symptom.id for symptom in page.present()}
    for cause in causes():
        if there & set(proofs_of(cause)):
            stated.setdefault(cause, LEAST_LIKELY)
    yield from (
        (cause, confidence) for cause, confidence in stated.items() if cause in causes() and cause not in EXCUSED
    )


def with_a_symptom(candidates: Sequence[Candidate], page: Diagnosis) -> list[Candidate]:
    """Those that have something to clear. Where it is not settled that anything is wrong, the others would only be a
    search for a lower error, which a healthy training has too."""
    there = {symptom.id for symptom in page.present()}
    return [one for one in candidates if there & set(one.clears)]


def in_the_middle(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that can be made while a training runs, for arms that begin with a kept state."""
    return [
        one
        for one in candidates
        if at_run_time(one.settings) and not any(setting.name in AT_THE_START for setting in one.settings)
    ]


def at_strength(
    candidate: Candidate, power: float, page: Diagnosis, root: Path, script: Path | None, arguments: Sequence[str]
) -> Candidate | None:
    """The same change with another strength, written into the script where that is possible; None where it cannot be
    tried."""
    settings = at(candidate.settings, power)
    edits = _edits(root, script, settings, Evidence.of(page), arguments, candidate.on)
    if edits is None and not at_run_time(settings):
        return None
    return replace(candidate, settings=settings, edits=edits or {})


def wanted_by(cause: str, clears: Sequence[str]) -> tuple[str, ...]:
    """What must go: the symptoms the fix names, and what proves the cause itself."""
    return tuple(dict.fromkeys([*proofs_of(cause), *clears]))


def proofs_of(cause: str) -> tuple[str, ...]:
    """What the cause always shows and hardly anything else does: the fault itself, as a recording sees it."""
    known = symptoms()
    predicts = causes()[cause].predicts
    return tuple(one for one, word in predicts.items() if word == "always" and known[one].direct)


def by_hand(page: Diagnosis, shown: Candidate | None = None) -> list[Manual]:
    """In words, with the place where that is known: the fixes that are shown to help and cannot be written, or the
    first fix of each likely cause."""
    places = Evidence.of(page).places
    steps: list[Manual] = []
    proposals = {fix.id: fix for h in (*page.hypotheses, *page.also) for fix in (h.fix, *h.alternatives) if fix}
    for one in () if shown is None else shown.chain:
        if not one.edits and one.fix in fixes():
            proposal = proposals.get(one.fix) or fixes()[one.fix].proposal({})
            steps.append(Manual(one.fix, one.title, one.cause, proposal.code, _place(one.cause, places)))
    if steps:
        return steps
    for hypothesis in (*page.hypotheses, *page.also):
        cause = causes().get(hypothesis.cause)
        if cause is None or hypothesis.fix is None or hypothesis.confidence < 2 * LEAST_LIKELY:
            continue
        where = hypothesis.where or _place(hypothesis.cause, places)
        steps.append(Manual(hypothesis.fix.id, hypothesis.fix.title, hypothesis.cause, hypothesis.fix.code, where))
    return list({step.fix: step for step in reversed(steps)}.values())[::-1][:MOST_BY_HAND]


def _place(cause: str, places: Mapping[str, tuple[str, int]]) -> str | None:
    at = next((places[proof] for proof in proofs_of(cause) if proof in places), None)
    return None if at is None else f"{at[0]}:{at[1]}"


def on_the_command_line(setting: Setting, arguments: Sequence[str]) -> tuple[str, str] | None:
    """The option that gives a setting its value, as it stands behind the script and as it should: ('--lr 1.5', '--lr
    0.15')."""
    for place, argument in enumerate(arguments):
        option, given, value = argument.partition("=")
        if not argument.startswith("-") or option.lstrip("-").replace("-", "_") not in _SPELLINGS.get(
            setting.name, {setting.name}
        ):
            continue
        between = given or " "
        value = value if given else next(iter(arguments[place + 1 : place + 2]), "")
        try:
            new = f"{setting.number(float(value)):.3g}"
        except ValueError:
            new = setting.value
        return f"{option}{between}{value}", f"{option}{between}{new}"
    return None


_SPELLINGS = {
    "lr": {"lr", "learning_rate"},
    "epochs": {"epochs", "num_epochs"},
    "batch_size": {"batch_size", "bs"},
}


def _edits(
    root: Path, script: Path | None, settings: Sequence[Setting], evidence: Evidence, arguments: Sequence[str],
    on: Candidate | None
) -> dict[str, str] | None:  # fmt: skip
    """The sources with this change written into them, and with those before it."""
    if _given(settings, arguments):
        return None
    before = dict(on.sources) if on is not None else {}
    changed = edited(root, script, settings, evidence, before)
    return None if changed is None else {**before, **changed}


def _given(settings: Sequence[Setting], arguments: Sequence[str]) -> bool:
    """On the command line of the script already, so that its source does not decide."""
    return any(on_the_command_line(setting, arguments) for setting in settings)
