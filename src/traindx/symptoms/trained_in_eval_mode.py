"""trained-in-eval-mode: weights are updated while the model is in eval mode."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, UpdateModes
from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.learning import pretrained
from traindx.symptoms.modes import CLARITY, layers
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "trained-in-eval-mode"
IN_EVAL = fitted(f"{ID}.in-eval", 5, unit="updates in eval mode")
MILD_DROPOUT = Threshold(
    0.1,
    "left out by dropout",
    "what GPT-2 and BERT are trained with, and most models of their size without",
    side="below",
)
MILD = 0.3  # clarity
UPDATES = fitted(f"{ID}.updates", 30, unit="updates in train mode, to be called absent")


def judge(measured: Measured) -> Observation | None:
    looks = measured.all(UpdateModes)
    for one in looks:
        if IN_EVAL.reached(one.in_eval):
            sentence = (
                f"{one.where} was in eval mode in {one.in_eval} of {one.updates} updates (first in update "
                f"{one.first_in_eval}): its {layers(one)} did not act as in training."
            )
            mild = one.first_in_eval == 1 and pretrained(measured) and _is_mild(one)
            return seen(ID, True, sentence, at=one, clarity=MILD if mild else CLARITY)
    for one in looks:
        if UPDATES.reached(one.updates) and not one.in_eval:
            sentence = f"{one.where} was in train mode in its first {one.updates} updates."
            return seen(ID, False, sentence, at=one, clarity=CLARITY)
    return None


def _is_mild(look: UpdateModes) -> bool:
    return not look.batchnorms and look.dropout > 0 and MILD_DROPOUT.reached(look.dropout)


def _modes(updates: int, in_eval: int, first: int = 0) -> UpdateModes:
    return UpdateModes(
        updates=updates, in_eval=in_eval, first_in_eval=first, dropouts=1, batchnorms=0, step=updates, where="Net"
    )


SYMPTOM = Symptom(
    id=ID,
    title="training in eval mode",
    severity="problem",
    family="mode",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Updates of a model with dropout or batch norm while the whole model is in eval mode.

## How it is measured
The mode of every model whose weights the optimiser holds, at every update; five updates in eval mode are enough, and 30
updates in train mode without one in eval mode are called absent. Batch norm alone in eval mode is a deliberate freeze
and does not count, nor does a frozen backbone under a new head. Dropout of at most 0.1 that is off from the
first update on is weak evidence where weights were loaded: `from_pretrained` gives a model in eval mode, and many
fine-tunings leave it there.

In a checkpoint: the gains of BatchNorm layers were trained, and all running statistics are those they were made with.

## Healthy range
Train mode at every update.

## What it usually means
`model.eval()` for validation without `model.train()` after it: from the first validation on, dropout is off and batch
norm normalises with stale statistics.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("never switched back", "present", measured=(_modes(40, 9, 36),)),
        Case("five updates", "present", measured=(_modes(40, 5, 36),)),
        Case("four updates, after many in train mode", "absent", measured=(_modes(30, 0), _modes(40, 4, 36))),
        Case("four of the first updates", "unknown", measured=(_modes(40, 4, 1),)),
        Case("switched back", "absent", measured=(_modes(400, 0),)),
        Case("only a few updates yet", "unknown", measured=(_modes(29, 0),)),
        Case("a checkpoint shows it", "present", facts=(Fact(ID, True, "All running means are 0."),)),
        Case("a log alone", "unknown"),
    ),
)
