"""run-died: a crash or a kill ended the run."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.run import CRASHES, ENDS, Event
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.recipes import falling
from traindx.symptoms.truncated import in_short

ID = "run-died"
HOW = {
    "oom": "The run died, out of memory",
    "killed": "The run was killed",
    "dataloader": "The run died in a data-loader worker",
    "traceback": "The run died with an error",
    "complaint": "The log ends with an error message",
}


def detect(signals: Signals) -> Observation:
    run = signals.run
    died = run.died
    if died is not None:
        steps = None if died.step is None else (died.step, died.step)
        return Observation(ID, "present", f"{HOW[died.kind]}: {in_short(died.text)}", steps)
    if any(event.kind in ENDS for event in run.events):
        return Observation(ID, "absent", "The run reached its end.")
    if run.cut_off is not None:
        return Observation(ID, "absent", "Somebody stopped the run (Ctrl-C).")
    if any(event.kind in CRASHES for event in run.events):
        return Observation(ID, "absent", "An error is in the log, and the training went on after it.")
    return Observation(ID, "unknown", "Nothing says how the run ended.")


SYMPTOM = Symptom(
    id=ID,
    title="crashed or was killed",
    severity="note",
    family="end",
    background=0.1,
    needs=("the end of the log, or a recording of the training (traindx run)",),
    doc="""
## What is observed
The last thing in the log is a traceback, an out-of-memory error, an abort of NCCL or a kill; or a recording stops
without its end mark, because its process was killed.

## How it is measured
By the messages of Python, CUDA, NCCL, Slurm and the shell at the end of a log, by any other line there that speaks of
an error, and by the line that a recording ends with. A traceback after which the training went on, or after which it
announced its end, was handled and does not count. A recording without an end mark whose process still holds its file is
still being written. Ctrl-C is somebody's choice and does not count.

## Healthy range
A run that ended by itself.

## What it usually means
Infrastructure: memory, a time limit, another process. The training may have been fine until then, but nobody can tell
how it would have ended: the verdict is never *healthy*.
""",
    detect=detect,
    cases=(
        Case("killed", "present", lambda: {"loss": falling(200, 2, 1)}, {}, (Event("killed", "Killed", 199.0),)),
        Case("out of memory", "present", lambda: {"loss": falling(20, 2, 1)}, {},
             (Event("oom", "CUDA out of memory"),)),
        Case(
            "handled and went on", "absent", lambda: {"loss": falling(200, 2, 1)}, {},
            (Event("traceback", "ValueError", 90.0),)
        ),
        Case(
            "ended by itself", "absent", lambda: {"loss": falling(200, 2, 1)}, {},
            (Event("traceback", "ValueError"), Event("finished", "Training finished")),
        ),
        Case(
            "stopped by hand", "absent", lambda: {"loss": falling(200, 2, 1)}, {},
            (Event("killed", "KeyboardInterrupt", 199.0),)
        ),
        Case("no word of it", "unknown", lambda: {"loss": falling(200, 2, 1)}),
    ),
)  # fmt: skip
