"""`traindx fix` and `traindx trial` from the script to the report."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from traindx.casebook.case import YOURS
from traindx.casebook.consulting import consult
from traindx.casebook.places import book_path
from traindx.diagnosis import Diagnosis
from traindx.engine import diagnose
from traindx.engine.context import Hint
from traindx.engine.stopping import when_to_stop
from traindx.errors import TraindxError
from traindx.live.host.launch import command_of, name_of
from traindx.live.recording.store import STATE
from traindx.opening import read
from traindx.reporters.wording import percent
from traindx.trials.editing import INSTALL, MISSING, Evidence, available, diff_of, edited
from traindx.trials.executors import executor_named
from traindx.trials.further import LIKELY, further, helped
from traindx.trials.handing import Hand, hand_over
from traindx.trials.order import standing
from traindx.trials.outcome import GRAVE, Trial
from traindx.trials.patch import candidate_of, read_patch
from traindx.trials.plan import (
    EXCUSED,
    Candidate,
    at_strength,
    by_hand,
    in_the_middle,
    on_the_command_line,
    plan,
    with_a_symptom,
)
from traindx.trials.report import Report, outcome_of
from traindx.trials.revise import Proof, revised
from traindx.trials.sandbox import choose
from traindx.trials.session import Limits, Session
from traindx.trials.setting import Setting, at_run_time
from traindx.trials.workspace import Project

MOST_AT_ONCE = 4
APART = 0.25  # a cause that is not LIKELY, or ahead of the next by less than this, is worth probes
OF_THE_RATE = {"lr", "warmup", "decay", "scheduler"}
Edits = dict[Path, dict[str, str]]


@dataclass(frozen=True)
class Asked:
    arguments: list[str]
    steps: int = 1000
    seconds: float = 120.0
    budget: float = 900.0
    seeds: int = 3
    jobs: int | None = None
    executor: str = "local"
    address: str | None = None
    from_step: int | None = None  # the update after which trials begin
    recording: Path | None = None  # one with a kept state, for trials to begin with
    network: bool = False  # whether the script may use it in a trial
    hand: Hand | None = None  # whom to ask where no change of ours is proven

    @property
    def at_once(self) -> int:
        """As asked; else half of the cores, and one where a GPU is shared."""
        if self.jobs is not None:
            return self.jobs
        if Path("/dev/nvidia0").exists():
            return 1
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, min(MOST_AT_ONCE, cores // 2))

    def session(self, tell: Callable[[str], None]) -> Session:
        if self.from_step is not None and self.executor != "local":
            raise TraindxError(
                "The state that --from-step keeps is on this machine alone.",
                "Record it where all nodes see it (traindx run --checkpoint N) and give --from RUN.traindx.",
            )
        limits = Limits(self.steps, self.seconds, self.budget, self.seeds, self.from_step, self.network)
        project = Project.of(self.arguments)
        return Session(
            project, command_of(self.arguments), executor_named(self.executor, self.at_once, self.address), limits, tell
        )


def fix(asked: Asked, tell: Callable[[str], None]) -> tuple[Report, Edits, bool]:
    """Diagnose, try, confirm. With the report: the edits of the best fix, and whether Ctrl-C cut it short."""
    with tempfile.TemporaryDirectory(prefix="traindx-fix-") as place:
        return _fix(asked, tell, Path(place))


def _fix(asked: Asked, tell: Callable[[str], None], place: Path) -> tuple[Report, Edits, bool]:
    session = asked.session(tell)
    files = session.project.fingerprint()
    page = _first(session, asked, place)
    interrupted = False
    notes: list[str] = []
    if page.verdict != "healthy" and is_open(page):
        sharper = None
        try:
            sharper = session.probed()
        except KeyboardInterrupt:
            interrupted = True
        if sharper is not None:
            page = replace(sharper, run=page.run)
            notes.append("The recording left the cause open, so probes measured the script too.")
    alone = page
    page = _recalled(session, asked, alone, "fix", notes)
    if page.verdict != "healthy" and not interrupted:
        script = _script(asked.arguments)
        root, arguments = session.project.root, asked.arguments[1:]
        try:

            def planned(page: Diagnosis, on: Candidate | None = None) -> list[Candidate]:
                found = plan(page, root, script, arguments, session.length(on), on)
                return found if session.state is None else in_the_middle(found)

            def strengthened(page: Diagnosis, candidate: Candidate, power: float) -> Candidate | None:
                return at_strength(candidate, power, page, root, script, arguments)

            candidates = planned(page)
            if page.verdict == "inconclusive":
                candidates = with_a_symptom(candidates, page)
            session.search(candidates, asked.at_once, partial(strengthened, page))
            further(session, page, planned, strengthened, asked.at_once)
            notes += _handed(session, asked, page)
        except KeyboardInterrupt:
            interrupted = True
    report, edits = _conclude(session, asked, page, files, interrupted, notes)
    return replace(report, alone=alone), edits, interrupted


def _handed(session: Session, asked: Asked, page: Diagnosis) -> list[str]:
    """Where no change of ours can be written, the command that the user named is asked."""
    best = session.best or helped(session.of_this_round())
    if asked.hand is None or (best is not None and best.candidate.written):
        return []
    proven, attempts = hand_over(session, page, " ".join(asked.arguments), asked.hand, failing)
    session.best = proven or session.best
    return attempts


def trial(asked: Asked, settings: Sequence[Setting], tell: Callable[[str], None]) -> tuple[Report, bool]:
    """Somebody's own hypothesis: the same pairs, the same verdict."""
    with tempfile.TemporaryDirectory(prefix="traindx-trial-") as place:
        return _trial(asked, settings, tell, Path(place))


def _trial(asked: Asked, settings: Sequence[Setting], tell: Callable[[str], None], place: Path) -> tuple[Report, bool]:
    session = asked.session(tell)
    files = session.project.fingerprint()
    alone = _first(session, asked, place)
    notes: list[str] = []
    page = _recalled(session, asked, alone, "trial", notes)
    edits = edited(session.project.root, _script(asked.arguments), settings, Evidence.of(page))
    if edits is None and not at_run_time(settings):
        names = " and ".join(map(str, settings))
        raise TraindxError(f"{names} needs an edit of the script, and no place for it is sure.", "Change it by hand.")
    candidate = Candidate(YOURS, "Your change", "", tuple(settings), edits=edits or {})
    if session.state is not None and not in_the_middle([candidate]):
        raise TraindxError(f"{candidate.change} needs a training from its start.", "Leave out --from and --from-step.")
    interrupted = False
    try:
        session.screen([candidate])
        session.more_seeds(candidate)
    except KeyboardInterrupt:
        interrupted = True
    report, _ = _conclude(session, asked, page, files, interrupted, notes)
    return replace(report, command="trial", by_hand=(), alone=alone), interrupted


def prove(asked: Asked, patch: Path, tell: Callable[[str], None]) -> tuple[Report, Edits, bool]:
    """Somebody's patch, judged like a fix of ours: it must clear what shows the cause and not worsen the error."""
    with tempfile.TemporaryDirectory(prefix="traindx-trial-") as place:
        session = asked.session(tell)
        edits = read_patch(patch, session.project.root)
        files = session.project.fingerprint()
        alone = _first(session, asked, Path(place))
        notes: list[str] = []
        page = _recalled(session, asked, alone, "trial", notes)
        candidate = candidate_of(edits, page)
        interrupted = not _judge(session, candidate)
        report, written = _conclude(session, asked, page, files, interrupted, [*notes, *failing(session, candidate)])
        return replace(report, command="trial", by_hand=(), alone=alone), written, interrupted


def _judge(session: Session, candidate: Candidate) -> bool:
    """Run the pairs of one change; False where Ctrl-C cut it short."""
    try:
        session.screen([candidate])
        session.more_seeds(candidate)
    except KeyboardInterrupt:
        return False
    return True


def failing(session: Session, candidate: Candidate) -> list[str]:
    """The checks of a patch that still fail: what should be gone and is there, and why it could not run."""
    before, after = session.arm(None, 0), session.arm(candidate, 0)
    if after.failed:
        return [f"With the patch the script ends: {after.failed}."]
    wanted = [one for one in candidate.clears if one in before.present()]
    left = [one for one in wanted if one in after.present()]
    page = after.page
    stated = {s.id: s.evidence for s in page.present()} if page is not None else {}
    new = [s for s in after.present() if s in GRAVE and s not in before.present()]
    return [f"Still failing: {one}. {stated.get(one, '')}".strip() for one in left] + [
        f"New with the patch: {one}. {stated.get(one, '')}".strip() for one in new
    ]


def _recalled(session: Session, asked: Asked, page: Diagnosis, made_by: str, notes: list[str]) -> Diagnosis:
    """The diagnosis as `traindx diagnose` would give it: under the prior of confirmed cases, with the past cases that
    resemble it. What the case book says is added to the notes."""

    def again(hints: Sequence[Hint]) -> Diagnosis:
        found = diagnose(read(asked.recording)[0], hinted=hints) if asked.recording else session.diagnosed(hints)
        return replace(found, run=page.run)

    if book_path() is None:
        return page
    recalled = consult(page, made_by, again, notes.append)
    notes += [note for note in recalled.notes if note not in page.notes]
    return recalled


def is_open(page: Diagnosis) -> bool:
    """Whether a diagnosis needs more evidence: its first cause is not likely, or the second nearly as likely."""
    shares = [hypothesis.confidence for hypothesis in page.hypotheses[:2]] + [0.0, 0.0]
    return shares[0] < LIKELY or shares[0] - shares[1] < APART


def _first(session: Session, asked: Asked, place: Path) -> Diagnosis:
    """The diagnosis of the unchanged script: of its first run here, or of the recording that is given."""
    if asked.recording is not None:
        return _recorded(session, asked, asked.recording)
    arm = session.first(place / STATE)
    _require_start(session, asked)
    if session.limits.start is not None and session.state is None and arm.measured is not None:
        raise TraindxError(
            f"No state could be kept after update {session.limits.start}: {name_of(asked.arguments)} made "
            f"{arm.measured.steps} updates, or its "
            "weights were not finite by then.",
            "Give a smaller --from-step.",
        )
    if arm.page is None or arm.measured is None:
        raise TraindxError(
            f"{name_of(asked.arguments)} cannot be trialled: {arm.failed or 'nothing was recorded'}.",
            f"By hand: diagnose it where it runs (traindx run {' '.join(asked.arguments)}), make one change that the "
            f"page proposes, run it again, "
            "and compare both recordings (traindx compare OLD.traindx NEW.traindx).",
        )
    name = name_of(asked.arguments)
    where = _script(asked.arguments) or session.project.root
    return replace(arm.page, run=replace(arm.page.run, source=str(where), name=name))


def _require_start(session: Session, asked: Asked) -> None:
    """A script that cannot be brought to the kept state cannot be trialled from there."""
    if session.state is not None and (reason := session.baseline().failed) is not None:
        raise TraindxError(
            f"{name_of(asked.arguments)} cannot be trialled from a later update: {reason}.",
            "Leave out --from and --from-step.",
        )


def _recorded(session: Session, asked: Asked, recording: Path) -> Diagnosis:
    if not (recording / STATE).is_file():
        raise TraindxError(
            f"{recording} keeps no state of the training to begin with.",
            f"Record one: traindx run --checkpoint N {' '.join(asked.arguments)}",
        )
    session.begin_with((recording / STATE).resolve(), session.limits.budget)
    _require_start(session, asked)
    return diagnose(read(recording)[0])


def _script(arguments: Sequence[str]) -> Path | None:
    """The file that is run, where it is known."""
    found = next((argument for argument in arguments if argument.endswith(".py")), None)
    if found is None and arguments[0] == "-m" and len(arguments) > 1:
        parts = Path(*arguments[1].split("."))
        found = next((str(p) for p in (parts.with_suffix(".py"), parts / "__main__.py") if p.is_file()), None)
    return None if found is None else Path(found).resolve()


def _held_by(asked: Asked) -> str:
    """What kept the arms from the user's files."""
    if asked.executor != "local":
        return "Each machine kept its trials from writing by the strongest means it has."
    network = " (the network was allowed)" if asked.network else ""
    return f"Trials were held by {choose().holds}{network}."


def _conclude(
    session: Session, asked: Asked, page: Diagnosis, files: dict[str, str], interrupted: bool, notes: list[str]
) -> tuple[Report, Edits]:
    if interrupted:
        session.settle()
    trials = sorted(session.trials.values(), key=_order)
    best = session.best or helped(trial for trial in trials if trial.candidate.on is None)
    together = None if best is None or best.candidate.on is None else session.against_the_script(best.candidate)
    root = session.project.root
    edits = dict(best.candidate.written) if best is not None else {}
    if session.state is not None and best is not None and {one.name for one in best.candidate.whole} & OF_THE_RATE:
        edits = {}  # a rate that is right from there on need not be right before
    saved = [name for name in edits if session.project.mark(root / name) != files.get(str(root / name))]
    if saved:  # what it was made from is no longer there
        edits = {}
        notes.append(f"{', '.join(saved)} was saved while trials ran, so no diff is given. Run it again.")
    if interrupted:
        notes.append("Stopped by Ctrl-C or a signal: the verdicts are those of the trials that were done.")
    if session.state is not None:
        notes += _about_the_start(session, page)
        if edits:
            notes.append(
                "The diff makes the change from the start; the trials have proven it from the later update on."
            )
    if session.left <= 0:
        notes.append("The time budget was spent; --budget gives more.")
    by_command = [] if best is None else [on_the_command_line(one, asked.arguments[1:]) for one in best.candidate.whole]
    stated = [f"{new} instead of {old}" for old, new in filter(None, by_command)]
    notes += _about_the_edit(session, page, best, stated)
    if best is not None and (left := _still_wrong(session, best)):
        notes.append(left)
    notes += _changed_meanwhile(session, files)
    notes.append(_held_by(asked))
    vain = [trial for trial in trials if trial.verdict in ("no-effect", "worse") and not trial.open]
    if best is None and page.verdict != "healthy":
        notes += when_to_stop(page, [trial.candidate.cause for trial in vain], tried=len(vain))
    name = " ".join(asked.arguments)
    report = Report(
        name,
        _revised(session, page, trials, together),
        tuple(trials),
        best,
        diff_of(root, edits) if edits else "",
        tuple(by_hand(page, None if best is None else best.candidate))
        if page.verdict != "healthy" and not stated
        else (),
        tuple(notes),
        page,
        together=together,
    )
    return report, {root: edits} if edits else {}


def _about_the_edit(session: Session, page: Diagnosis, best: Trial | None, stated: Sequence[str]) -> list[str]:
    """How the script is given its best change where no diff does it, or why there is no diff."""
    if best is not None and stated:
        return [f"The script is given it by its command: {', '.join(stated)}."]
    if page.verdict != "healthy" and not available():
        return [f"{MISSING}. {INSTALL}."]
    if best is not None and session.state is None and (inside := _not_written(best.candidate)):
        return [f"It was tried at run time ({inside}); no edit of the script is sure enough to be proposed."]
    return []


def _changed_meanwhile(session: Session, files: dict[str, str]) -> list[str]:
    """Files of the project that something else than a trial has written."""
    changed = [
        name
        for name, content in session.project.fingerprint().items()
        if files.get(name, content) != content and not _ours(name)
    ]
    if not changed:
        return []
    return [f"{', '.join(changed[:3])} changed while the trials ran, by another program or by the script itself."]


def _still_wrong(session: Session, best: Trial) -> str:
    """What is wrong with the script after its best change: one change at a time means that the next comes after this
    one."""
    page = session.arm(best.candidate, 0).page
    causes = {one.cause for one in best.candidate.chain}
    first = None if page is None else next((h for h in page.hypotheses if h.cause not in EXCUSED), None)
    if page is None or first is None or page.verdict != "unhealthy" or first.confidence < LIKELY:
        return ""
    cause = f"{first.title} ({first.cause}, {percent(first.confidence)})"
    if best.candidate.fix == YOURS:
        return f"With this change this is wrong: {cause}."
    if first.cause in causes:
        return f"With this change the script still shows it: {cause}."
    return f"With this change something else is left: {cause}. Apply it, then run the same command again."


def _about_the_start(session: Session, page: Diagnosis) -> list[str]:
    """What holds for trials that began in the middle."""
    stated = (
        "Trials began with the state of a later update: seeds differ in the order of the data and in random "
        "numbers after it, not in the start."
    )
    arm = session.baseline()
    if arm.measured is not None and not arm.measured.aligned:
        stated += (
            " The order of the data could not be repeated up to there; both arms of a pair share theirs all the same."
        )
    lost = [s.id for s in page.present() if s.id in GRAVE and s.id not in arm.present()]
    if lost:
        stated += f" The unchanged script did not show {lost[0]} again from there."
    return [stated]


def _ours(name: str) -> bool:
    """A file that this very process writes its output to."""
    for stream in (1, 2):
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(name), os.fstat(stream)):
                return True
    return False


def _revised(session: Session, page: Diagnosis, trials: Sequence[Trial], together: Trial | None) -> Diagnosis:
    """The diagnosis after the trials. Of changes on top of others, those speak that help together; and a change without
    which the others would not help has helped, whatever it did alone."""
    needed = set() if together is None else {one.change for one in together.candidate.chain}

    def proof(trial: Trial) -> Proof:
        candidate, alone = trial.candidate, trial.verdict == "helped" or trial.candidate.change not in needed
        shown = trial if alone or together is None else together
        return Proof(candidate.cause, candidate.fix, shown.verdict, _sentence(shown), candidate.rank)

    later = []
    for trial in trials:
        on = trial.candidate.on
        if on is not None and trial.candidate.change in needed:
            seen = [
                h for p in session.pages(on)[:1] for h in (*p.also, *p.hypotheses) if h.cause == trial.candidate.cause
            ]
            later += [(hypothesis, proof(trial)) for hypothesis in seen[:1]]
    return revised(page, [proof(t) for t in trials if not t.open and t.candidate.on is None], later)


def _sentence(trial: Trial) -> str:
    return f"trial of {' + '.join(one.fix for one in trial.candidate.chain)}: {outcome_of(trial)}"


def _not_written(candidate: Candidate) -> str:
    """The changes that the diff does not hold, because no edit is sure."""
    return " + ".join(map(str, candidate.inside))


def _order(trial: Trial) -> tuple[object, ...]:
    """The best first; changes on top of another stand after those of the first round."""
    return len(trial.candidate.chain), ("helped", "no-effect", "worse", "failed").index(trial.verdict), *standing(trial)
