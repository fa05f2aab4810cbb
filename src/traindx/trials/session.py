"""Runs trials: pairs of arms, one change at a time, until the budget is spent or the matter is clear."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from traindx.diagnosis import Diagnosis
from traindx.engine import diagnose
from traindx.engine.context import Hint
from traindx.errors import TraindxError
from traindx.live.recording.adding import add_readings
from traindx.opening import read
from traindx.readers.probed import readings_in
from traindx.reading import Reading
from traindx.trials.executors import Executor
from traindx.trials.interrupting import interruptible
from traindx.trials.job import PATIENCE, Job, Result
from traindx.trials.judge import doubtful, promising, undecided
from traindx.trials.measure import Measured
from traindx.trials.order import gentler_than, rival_of, standing, written_instead
from traindx.trials.outcome import Arm, Trial, judged
from traindx.trials.plan import LATER, Candidate
from traindx.trials.strength import neighbours, strength
from traindx.trials.workspace import Project

SEEDS = 3  # pairs before anything is called helped
MOST_SEEDS = 5
MOST_IN_DOUBT = 8  # where a fault is gone and the error a little larger
MOST_TRIED = 10  # changes in one session
MOST_CONFIRMED = 4
MOST_TUNED = 4  # further strengths of the best change
PROBE_SECONDS = 42.0  # for all probes of a script, as `traindx probe` gives them
CLEAR = math.log(2.0)  # an effect after which the fixes of less likely causes are not tried any more
SURE = 0.8


@dataclass(frozen=True)
class Limits:
    steps: int | None = 1000
    seconds: float = 120.0  # for one arm
    budget: float = 900.0  # for all
    seeds: int = SEEDS
    start: int | None = None  # the update after which trials begin; None: from the start
    network: bool = False  # whether arms may use it


class Session:
    def __init__(
        self, project: Project, command: Sequence[str], executor: Executor, limits: Limits, tell: Callable[[str], None]
    ) -> None:
        self.project = project
        self.command = tuple(command)
        self.executor = executor
        self.limits = limits
        self.tell = tell
        self.trials: dict[tuple[str, str], Trial] = {}
        self.best: Trial | None = None  # the last change of those that help together
        self.base: Candidate | None = None  # what is tried is compared with this change, not with the unchanged script
        self._ends = time.monotonic() + limits.budget
        self._arms: dict[tuple[str, int], Arm] = {}
        self._tried: dict[tuple[str, str], Candidate] = {}  # of which an arm was run
        self._limit = limits.steps
        self.state: Path | None = None  # a kept state that all arms begin with
        self._before = 0.0  # seconds it took to get there
        self._recorded: Result | None = None  # the unchanged script from its start
        self._readings: list[Reading] = []  # what probes of it measured
        self._passed: list[Candidate] = []  # what was not tried, because something else was clear

    # --- arms ---------------------------------------------------------------------------------------------------------

    def first(self, to: Path) -> Arm:
        """The unchanged script from its start, which is what is diagnosed. Where trials are to begin later, its state
        is kept in the file `to`, and all arms begin with that."""
        if self.limits.start is None:
            return self.baseline()
        steps = self.limits.start + (self.limits.steps or Limits().steps or 0)
        job = self._job(steps=steps, seconds=self.left, keep=(self.limits.start, str(to)), trace=True)
        [(_, result)] = self._results([job])
        self._recorded = result
        arm = arm_of(result)
        self.tell(f"from the start: {_how(arm)}")
        if to.exists():
            self.begin_with(to, arm.measured.seconds if arm.measured else 0.0)
        return arm

    def probed(self) -> Diagnosis | None:
        """The diagnosis of the unchanged script with what probes of its model add; None where nothing could be
        measured."""
        seconds = min(PROBE_SECONDS, self.left / 4)
        if self._recorded is None or seconds < 1:
            return None
        [(_, result)] = self._results([self._job(seconds=seconds, probes=seconds)])
        with tempfile.TemporaryDirectory(prefix="traindx-arm-") as place:
            self._readings = readings_in(result.save(Path(place) / "probes.traindx"))
        stated = f"{len(self._readings)} measured" if self._readings else "no step could be measured"
        self.tell(f"probes: {stated}")
        return self.diagnosed() if self._readings else None

    def diagnosed(self, hints: Sequence[Hint] = ()) -> Diagnosis:
        """The unchanged script from its start, with all that was measured of it, under what is known besides."""
        assert self._recorded is not None
        with tempfile.TemporaryDirectory(prefix="traindx-arm-") as place:
            folder = self._recorded.save(Path(place) / "first.traindx")
            if self._readings:
                add_readings(folder, self._readings)
            return diagnose(read(folder)[0], hinted=hints)

    def begin_with(self, state: Path, seconds: float) -> None:
        """Arms begin with this state, which took the script so long to reach."""
        self.state, self._before = state, seconds

    def baseline(self) -> Arm:
        """The unchanged script in a trial."""
        self._need([(None, 0)])
        arm = self._arms["", 0]
        if arm.measured is not None and arm.measured.stopped == "time":
            self._limit = arm.measured.steps
        return arm

    def arm(self, candidate: Candidate | None, seed: int) -> Arm:
        """One arm, run now or before."""
        self._need([(candidate, seed)])
        return self._arms[_key(candidate), seed]

    def length(self, change: Candidate | None = None) -> int:
        """How many steps the script makes in a trial, unchanged or with a change, as far as is known."""
        arm = self.baseline() if change is None else self.arm(change, 0)
        if arm.measured is None or arm.measured.stopped == "broken":
            return self._limit or Limits().steps or 0
        return arm.measured.steps

    @property
    def left(self) -> float:
        return self._ends - time.monotonic()

    def _need(self, wanted: Sequence[tuple[Candidate | None, int]]) -> None:
        """Run those of these arms that have not been run."""
        missing = [one for one in wanted if (_key(one[0]), one[1]) not in self._arms]
        jobs = [self.job(candidate, seed) for candidate, seed in missing]
        for place, result in self._results(jobs):
            candidate, seed = missing[place]
            if candidate is None and not seed and self.state is None:
                self._recorded = result
            arm = arm_of(result)
            self._arms[_key(candidate), seed] = arm
            if candidate is not None:
                self._tried[_key(candidate), candidate.fix] = candidate
            self.tell(_said(candidate, seed, arm))

    def _results(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Result]]:
        """What comes back, as it comes. A signal interrupts the waiting and nothing else."""
        results = iter(self.executor.run(jobs))
        try:
            while True:
                with interruptible():
                    one = next(results, None)
                if one is None:
                    return
                yield one
        finally:
            if isinstance(results, Generator):
                results.close()

    def _job(self, **values: Any) -> Job:
        return Job(self.command, self.project, network=self.limits.network, **values)

    def job(self, candidate: Candidate | None, seed: int) -> Job:
        """What an executor is given for this arm."""
        seconds = max(5.0, min(self.limits.seconds, self.left))
        diagnosed = candidate is None and not seed and self.state is None
        job = self._job(seed=seed, steps=self._limit, seconds=seconds, trace=diagnosed)
        if self.state is not None:
            job = replace(job, state=str(self.state), startup=job.startup + PATIENCE * self._before)
        if candidate is None:
            return job
        unchanged = self._arms.get((_key(candidate.on), seed))
        if unchanged is not None and unchanged.measured is not None and unchanged.measured.stopped != "broken":
            job = replace(job, reference=unchanged.measured.course())
        if self.state is not None:  # which brings the settings along that an edit has changed
            return replace(job, settings=tuple(map(str, candidate.whole)))
        inside = tuple(map(str, candidate.inside))
        return replace(job, edits=candidate.sources, settings=inside, steps=self._steps_of(candidate))

    def _steps_of(self, candidate: Candidate) -> int | None:
        """A change that makes the training longer is given its length."""
        longer = [setting.number(1.0) for setting in candidate.whole if setting.name == "epochs" and setting.scales]
        return None if self._limit is None else int(self._limit * max([1.0, *longer]))

    # --- trials -------------------------------------------------------------------------------------------------------

    def search(
        self, candidates: Sequence[Candidate], at_once: int, at_strength: Callable[[Candidate, float], Candidate | None]
    ) -> None:
        """Screen, find how much, confirm; and what was passed over for a clear change, where that is not confirmed."""
        self.screen(candidates, at_once)
        self.tune(at_strength)
        self.confirm()
        if self._passed and not any(trial.verdict == "helped" for trial in self.of_this_round()):
            self.screen(self._passed, at_once)
            self.tune(at_strength)
            self.confirm()

    def screen(self, candidates: Sequence[Candidate], at_once: int = 1) -> None:
        """One pair for each change, the most promising first."""
        self._passed = []
        line = list(candidates[:MOST_TRIED])
        while line and self.left > 0:
            together = 1 if any(one.judged == "speed" for one in line[:at_once]) else at_once  # clocks want to be alone
            batch, line = line[:together], line[together:]
            self._need([(candidate, 0) for candidate in batch])
            for trial in [self.judge(candidate) for candidate in batch]:
                if self._clear(trial):  # what is left to find is how much of this fix is best
                    fix, tried = trial.candidate.fix, trial.candidate
                    kept = [other for other in line if other.fix == fix or written_instead(other, tried)]
                    self._passed += [other for other in line if other not in kept]
                    line = kept

    def tune(self, at_strength: Callable[[Candidate, float], Candidate | None]) -> None:
        """More or less of the best change, where how much decides, as long as that is better."""
        for _ in range(MOST_TUNED):
            trials = [t for t in self.of_this_round() if self._promising(t) and t.candidate.judged != "speed"]
            best = min(trials, key=standing, default=None)
            power = None if best is None else strength(best.candidate.settings)
            if best is None or power is None or self.left <= 0:
                return
            alike = [t.candidate.settings for t in self.of_this_round() if t.candidate.fix == best.candidate.fix]
            tried = [strength(settings) for settings in alike]
            name = best.candidate.settings[0].name
            untried = neighbours(name, power, [one for one in tried if one is not None])
            candidate = next(filter(None, (at_strength(best.candidate, one) for one in untried)), None)
            if candidate is None:
                return
            self._need([(candidate, 0)])
            self.judge(candidate)

    def _clear(self, trial: Trial) -> bool:
        """A large effect of a likely change, or of a lesser one that is written into the line of a likely cause and
        removes what was seen; or the fault itself, which was seen, is gone and nothing got worse."""
        strong = trial.effect is not None and trial.effect.size >= CLEAR
        gone = trial.repaired and not trial.candidate.rank and trial.verdict not in ("worse", "failed")
        weight = trial.candidate.weight
        if trial.repaired and trial.candidate.edits:
            weight /= LATER**trial.candidate.rank
        return gone or (strong and bool(trial.cleared) and weight >= SURE)

    def confirm(self) -> None:
        """More seeds for the best changes, until one is shown to help; and for its rival, if it has one."""
        best = sorted((t for t in self.of_this_round() if self._promising(t)), key=standing)
        for trial in best[:MOST_CONFIRMED]:
            shown = self.more_seeds(trial.candidate)
            if shown.verdict == "helped":
                trials = self.of_this_round()
                for other in (rival_of(shown, trials), gentler_than(shown, trials)):
                    if other is not None:
                        self.more_seeds(other.candidate)
                return

    def more_seeds(self, candidate: Candidate) -> Trial:
        trial = self.judge(candidate)
        goal = max(self.limits.seeds, 1)
        while trial.verdict != "failed" and self.left > 0:
            goal = self._goal(trial, goal)
            if trial.seeds >= goal:
                break
            pair = [(candidate.on, trial.seeds), (candidate, trial.seeds)]
            for together in (
                [[one] for one in pair] if candidate.judged == "speed" else [pair]
            ):  # clocks want to be alone
                self._need(together)
            before, trial = trial, self.judge(candidate)
            if trial.seeds == before.seeds:  # the unchanged script came to nothing in that pair
                break
        return trial

    def _goal(self, trial: Trial, goal: int) -> int:
        """How many pairs it takes: as many as asked, and more where these do not tell."""
        if trial.seeds < goal or trial.effect is None:
            return goal
        least = max(self.limits.seeds, 1)
        if trial.seeds > 1 and trial.repaired and doubtful(trial.effect):
            return least + MOST_IN_DOUBT - SEEDS
        return goal + (undecided(trial.effect) and goal < least + MOST_SEEDS - SEEDS)

    def of_this_round(self) -> list[Trial]:
        """The trials of changes that are made on top of what stands now."""
        return [trial for trial in self.trials.values() if _key(trial.candidate.on) == _key(self.base)]

    def _promising(self, trial: Trial) -> bool:
        return trial.verdict != "failed" and promising(trial.effect, trial.wanted, trial.cleared)

    def judge(self, candidate: Candidate) -> Trial:
        """The verdict by all pairs there are."""
        trial = judged(candidate, self._pairs(candidate.on, candidate))
        self.trials[_key(candidate), candidate.fix] = trial
        return trial

    def settle(self) -> None:
        """The verdicts of all pairs that are done: an interruption may have come before one was judged."""
        for key, candidate in self._tried.items():
            known = self.trials.get(key)
            if len(self._pairs(candidate.on, candidate)) > (known.seeds if known is not None else 0):
                self.judge(candidate)

    def against_the_script(self, candidate: Candidate) -> Trial:
        """The verdict on all changes of a chain together, beside the unchanged script, by the arms there are."""
        clears, proofs = (
            tuple(dict.fromkeys(name for one in candidate.chain for name in names(one))) for names in (_clears, _proofs)
        )
        return judged(replace(candidate, clears=clears, proofs=proofs), self._pairs(None, candidate))

    def _pairs(self, before: Candidate | None, after: Candidate) -> list[tuple[Arm, Arm]]:
        old, new = _key(before), _key(after)
        seeds = sorted(seed for key, seed in self._arms if key == new and (old, seed) in self._arms)
        # what the unchanged script did not survive either says nothing of the change
        seeds = [seed for seed in seeds if not seed or self._arms[old, seed].failed is None]
        return [(self._arms[old, seed], self._arms[new, seed]) for seed in seeds]

    def pages(self, candidate: Candidate) -> list[Diagnosis]:
        """The diagnoses of a change's arms, one a seed."""
        arms = [arm for (key, _), arm in sorted(self._arms.items(), key=lambda item: item[0]) if key == _key(candidate)]
        return [arm.page for arm in arms if arm.page is not None]


def arm_of(result: Result) -> Arm:
    """Read what came back."""
    if result.refused is not None:
        return Arm(None, None, result.refused)
    with tempfile.TemporaryDirectory(prefix="traindx-arm-") as place:
        folder = result.save(Path(place) / "arm.traindx")
        measured = Measured.read(folder)
        try:
            page = diagnose(read(folder)[0])
        except TraindxError:
            page = None
    if result.interrupted:
        return Arm(page, measured, "interrupted")
    if measured is None or not measured.steps or page is None:
        why = f" ({_last_words(result)})" if result.code else ", and ended without an error"
        return Arm(page, measured, f"it made no update{why}")
    if result.code not in (0, 124) and measured.stopped == "end":
        return Arm(page, measured, f"it ended with an error ({_last_words(result)})")
    return Arm(page, measured)


def _last_words(result: Result) -> str:
    lines = [line.strip() for line in result.said.splitlines() if line.strip() and not line.startswith("traindx:")]
    return lines[-1][:200] if lines else f"exit code {result.code}"


def _key(candidate: Candidate | None) -> str:
    return "" if candidate is None else candidate.change


def _clears(candidate: Candidate) -> tuple[str, ...]:
    return candidate.clears


def _proofs(candidate: Candidate) -> tuple[str, ...]:
    return candidate.proofs


def _said(candidate: Candidate | None, seed: int, arm: Arm) -> str:
    what = "unchanged" if candidate is None else f"{candidate.fix} ({candidate.change})"
    return f"{what}, seed {seed}: {_how(arm)}"


def _how(arm: Arm) -> str:
    steps, seconds = (arm.measured.steps, arm.measured.seconds) if arm.measured else (0, 0.0)
    return arm.failed or f"{steps} steps, {seconds:.1f} s"
