"""no-gradient: trainable parameters that never receive a gradient."""

from __future__ import annotations

import re

import numpy as np
from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import LoadedWeights, Measured, OptimizerGradients, SilentParameters, UnheldParameters
from traindx.signals import Signals
from traindx.signals.inside import layers, level, printed_step
from traindx.signals.progress import MOVED
from traindx.symptoms import parameters_not_optimized
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.learning import listed, pretrained, since
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.recipes import falling, flat, put
from traindx.symptoms.reported import said
from traindx.thresholds import Threshold, fitted

ID = "no-gradient"
MIN_POINTS = 3
COARSE = 1e-2  # of a usual norm: a log that prints no finer cannot tell zero from small
NAMED = 4
UPDATES = Threshold(
    3, "updates looked at closely", "parts that are trained in turns may be left out of one update, and of two"
)
SHARE = fitted(f"{ID}.share", 0.2, unit="of the trainable weights; less is a head that nobody uses", strong=0.5)
CLEAR = 0.8  # clarity of a finding that is not strong
USED = 0.95  # and of layers without a gradient that were tried: the output changes with them
WHOLE_UPDATES = Threshold(
    5, "updates of one optimiser, none with a gradient", "two models that take turns are each fed at their own updates"
)
RUNNING = Threshold(0.5, "of the parameters that it holds", "what never runs waits for a later part of the training")
_BIAS = re.compile(r"(^|\W)bias$")
_MESSAGE = re.compile(
    r"does not require grad and does not have a grad_fn"  # torch: nothing in the graph is trainable
    r"|None of the inputs have requires_grad=True"  # torch: reentrant checkpointing cuts the graph
    r"|parameters that were not used in producing (?:the )?loss"  # torch DistributedDataParallel
    r"|Gradients do not exist for variables \[?'?([\w/.:-]*)"  # Keras
    r"|No gradients provided for any variable",
    re.IGNORECASE,
)


def judge(measured: Measured) -> Observation | None:
    looks = [look for look in measured.all(SilentParameters) if UPDATES.reached(look.looks)]
    unheld = parameters_not_optimized.judge(measured)
    if unheld is not None and unheld.state == "present":
        return None  # what no optimiser holds is reported there
    loaded = pretrained(measured)
    in_vain = _updates_in_vain(measured, loaded)
    if in_vain is not None:
        return in_vain
    if not looks:
        return None
    last = looks[-1]
    present = _is_cut(last, loaded)
    at = since(looks, lambda look: _is_cut(look, loaded) is present)
    return _finding(last, loaded, at) if present else _calm(last, loaded, at)


def _updates_in_vain(measured: Measured, loaded: bool) -> Observation | None:
    """An optimiser none of whose parameters had a gradient at any update, whatever share of the weights it holds."""
    last = {one.number: one for one in measured.all(OptimizerGradients)}
    one = next((one for one in last.values() if _is_in_vain(one, loaded)), None)
    if one is None:
        return None
    place = f" (the optimiser made at {one.where})" if one.where else ""
    looks = [look for look in measured.all(OptimizerGradients) if look.number == one.number]
    return seen(
        ID,
        True,
        f"All {one.parameters} parameters of one optimiser had no gradient at any of {one.updates} updates, although "
        f"their layers run: {listed(one.names, one.parameters)}{place}.",
        at=since(looks, lambda look: _is_in_vain(look, loaded)),
        where=one.where or one.names[0],
    )


def _is_in_vain(one: OptimizerGradients, loaded: bool) -> bool:
    running = one.running + (0 if loaded else one.muted)
    silent = one.without == one.updates and WHOLE_UPDATES.reached(one.updates)
    return (
        silent and not one.reached and not one.moved and bool(one.names) and RUNNING.reached(running / one.parameters)
    )


def _is_cut(look: SilentParameters, loaded: bool) -> bool:
    """Few weights are enough where the output depends on them: a head that nobody uses changes nothing."""
    return SHARE.reached(_share(look, loaded)) or look.used[0] > 0


def _finding(look: SilentParameters, loaded: bool, at: SilentParameters) -> Observation:
    if look.used[0]:
        count = look.used[0]
        return seen(
            ID,
            True,
            f"What {count} of {look.parameters} parameters make goes into the output, and no gradient ever comes back "
            f"to them: {listed(look.used_names, count)}. Something between them and the loss cuts the graph.",
            at=at,
            where=look.used_names[0],
            clarity=USED,
        )
    share, names, count = _share(look, loaded), _names(look, loaded), _silent(look, loaded)[0]
    return seen(
        ID,
        True,
        f"{count} of {look.parameters} parameters ({share * 100:.0f} % of the trainable weights) run in the forward "
        f"pass and never receive a gradient: {listed(names, count)}{_why(look, loaded)}.",
        at=at,
        where=names[0],
        clarity=max(CLEAR, SHARE.clarity(share)),
    )


def _calm(look: SilentParameters, loaded: bool, at: SilentParameters) -> Observation:
    count, names = _silent(look, loaded)[0], _names(look, loaded)
    rest = f" (except {listed(names, count)})" if count else ""
    return seen(ID, False, f"The parameters of the layers that run receive a gradient{rest}.", at=at)


def _silent(look: SilentParameters, loaded: bool) -> tuple[int, int, int]:
    """Parameters, elements and matrices without a gradient. Loaded weights may be left as they are, by gradients turned
    off."""
    if loaded:
        return look.silent
    (one, two, three), more = look.silent, look.muted
    return one + more[0], two + more[1], three + more[2]


def _names(look: SilentParameters, loaded: bool) -> tuple[str, ...]:
    return look.names if loaded else (*look.names, *look.muted_names)[:NAMED]


def _share(look: SilentParameters, loaded: bool) -> float:
    _, weights, matrices = _silent(look, loaded)
    share = weights / max(look.weights, 1)
    if look.first_matrix == "silent" or (look.first_matrix == "muted" and not loaded):
        # cut off from the input side: early layers have few weights and matter all the same; a head may be unused
        share = max(share, matrices / look.matrices)
    return share


def _why(look: SilentParameters, loaded: bool) -> str:
    if not look.silent[0] and not loaded:
        return "; their layers run with gradients turned off, and no weights were loaded into them"
    if not look.zero:
        return ""
    return f"; it is exactly zero behind {' and '.join(look.stops)}, which lets none through"


def detect(signals: Signals) -> Observation:
    reported = said(ID, signals.run, _MESSAGE)
    course = signals.progress
    if reported is not None and course is not None and course.moved and MOVED.reached(course.share):
        return Observation(
            ID, "absent", f"{reported.evidence} But {course.curve.name} went from "
            f"{num(course.curve.logged(course.curve.initial))} to {num(course.curve.logged(course.curve.best))}.",
            noted=True,
        )  # fmt: skip
    if reported is not None:
        return reported
    series = [one for one in layers(signals.run, "grad_norm") if len(one) >= MIN_POINTS]
    if len(series) < 2:
        return Observation(ID, "unknown", "No gradient norms by parameter were logged.")
    fed = {one.meaning.where for one in series if np.any(one.values)}
    # a bias that cancels out, in a difference of outputs or in front of a norm, is not cut off from the loss
    still = [one for one in series if not np.any(one.values) and _BIAS.sub(r"\1weight", one.meaning.where) not in fed]
    if not still:
        return Observation(
            ID, "absent", f"The layers of all {len(series)} parameters with a logged gradient norm receive one."
        )
    names = ", ".join(one.meaning.where for one in still[:NAMED]) + (" …" if len(still) > NAMED else "")
    moving = [one for one in series if np.any(one.values)]
    usual = level(np.array([level(one.values) for one in moving])) if moving else level(_whole(signals))
    if not usual > 0:
        return Observation(
            ID,
            "present",
            f"All {len(series)} logged gradient norms are exactly 0 in every row.",
            (float(still[0].steps[0]), float(still[0].steps[-1])),
            names,
            0.6,
        )
    finest = max((printed_step(one.values) for one in moving), default=0.0)
    if finest > COARSE * usual:
        return Observation(
            ID, "unknown", f"{names}: printed as 0, but the log rounds to {num(finest)} of {num(usual)}."
        )
    return Observation(
        ID,
        "present",
        f"{len(still)} of {len(series)} parameters have a gradient of exactly 0 in every row ({names}); the others "
        f"have {num(usual)}.",
        (float(still[0].steps[0]), float(still[0].steps[-1])),
        names,
        1.0 if len(still[0]) >= 10 else 0.7,
    )


def _whole(signals: Signals) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.empty(0) if signals.grad_norm is None else signals.grad_norm.values


CUT = SilentParameters(
    looks=5,
    parameters=4,
    weights=387,
    matrices=2,
    silent=(2, 288, 1),
    names=("encoder.0.weight", "encoder.0.bias"),
    first_matrix="silent",
)
MUTED = replace(CUT, silent=(0, 0, 0), names=(), muted=CUT.silent, muted_names=CUT.names, first_matrix="muted")
IN_VAIN = OptimizerGradients(
    number=0, updates=10, without=10, parameters=4, weights=226, names=("0.weight", "0.bias"), running=4
)
UNUSED = replace(CUT, silent=(2, 60, 1), names=("pooler.weight", "pooler.bias"), first_matrix="")

SYMPTOM = Symptom(
    id=ID,
    title="parameters get no gradient",
    severity="problem",
    family="wiring",
    background=0.003,
    needs=("gradient norms by parameter",),
    doc="""
## What is observed
Parameters that are meant to learn have a gradient of exactly zero, at every step.

## How it is measured
Gradient norms logged by parameter: present when some are 0 in every row (three rows at least) while others are not.
Where the log prints so coarsely that zero and small look alike, it is unknown. A global norm that is always 0.000 means
that it is not measured (Megatron prints it so) and says nothing. Messages count as well: torch's "does not require grad
and does not have a grad_fn", its warning of checkpointing without inputs that require gradients, the complaint of
distributed training about parameters not used in the loss, Keras' "Gradients do not exist for variables". A recording
sees parameters of layers that run and that no gradient reaches, or one of exactly zero behind an operation without a
slope (`sign`, `round`) or a function whose backward pass you wrote. There it is present from 20 % of the trainable
weights on, plain from 50 %, where the first layer is among them also by the number of weight matrices. Layers that run
with gradients turned off count unless weights were loaded. Fewer weights are enough where an output depends on them:
the model is called once more with the values of such a layer changed, and an output changes whose graph does not lead
to the layer. An optimiser none of whose parameters has a gradient at any
of its updates, five at least, counts whatever share of the weights it holds, if its layers run, no loss reaches them
and nothing else moves them. Where parameters belong to no optimiser, that is reported
instead.

## Healthy range
None for parameters that should learn, except a bias that cancels out while its weight learns (in the difference of two
outputs, or in front of a norm). Parameters frozen on purpose usually have no norm at all; embeddings of tokens that do
not occur are small, not zero. LoRA's A matrix has zero gradient at the first step only, since B begins at zero. Zero
gradients in more than half of a layer's entries, which checklists look for, are a matter of dead units.

## What it usually means
A detach(), .item(), argmax, sign, round or numpy round trip in the forward pass, a branch that does not reach the loss,
requires_grad switched off, a loss made from a copy of the output, or reentrant gradient checkpointing on a frozen base
model (the adapter then never learns).
""",
    detect=from_measurements(ID, judge, otherwise=detect),
    cases=(
        Case("a recording saw an encoder without", "present", measured=(CUT,)),
        Case("an early layer with few of the weights", "present", measured=(replace(CUT, silent=(2, 30, 1)),)),
        Case("behind a sign", "present", measured=(replace(CUT, zero=2, stops=("sign",)),)),
        Case("a pooler that nobody uses", "absent", measured=(UNUSED,)),
        Case("one with a fifth of the weights", "present", measured=(replace(UNUSED, silent=(2, 78, 1)),)),
        Case(
            "few weights that the output depends on",
            "present",
            measured=(replace(UNUSED, used=(2, 60, 1), used_names=("block.key.weight", "block.key.bias")),),
        ),
        Case("gradients turned off", "present", measured=(MUTED,)),
        Case("gradients turned off, weights loaded", "absent", measured=(MUTED, LoadedWeights(loaded=True))),
        Case("an optimiser in vain", "present", measured=(IN_VAIN,)),
        Case("one in vain at first", "unknown", measured=(IN_VAIN, replace(IN_VAIN, updates=11, step=30))),
        Case("one whose layers do not run yet", "unknown", measured=(replace(IN_VAIN, running=1),)),
        Case("one whose gradients were cleared", "unknown", measured=(replace(IN_VAIN, reached=4),)),
        Case("one that moves weights in its own way", "unknown", measured=(replace(IN_VAIN, moved=True),)),
        Case("one seen too rarely", "unknown", measured=(replace(IN_VAIN, updates=4, without=4),)),
        Case(
            "one of loaded layers with gradients turned off",
            "unknown",
            measured=(replace(IN_VAIN, running=0, muted=4), LoadedWeights(loaded=True)),
        ),
        Case("at first only", "absent", measured=(CUT, replace(UNUSED, silent=(0, 0, 0), names=(), step=7))),
        Case("too few looks", "unknown", measured=(replace(CUT, looks=2),)),
        Case(
            "no optimiser holds them",
            "unknown",
            measured=(
                CUT,
                UnheldParameters(reached=4, reached_weights=387, unheld=2, unheld_weights=288, names=("0.weight",)),
            ),
        ),
        Case(
            "encoder gets nothing",
            "present",
            lambda: {
                "grad_norm/encoder.0.weight": flat(50, 0.0),
                "grad_norm/encoder.1.weight": flat(50, 0.0),
                "grad_norm/head.weight": flat(50, 0.7, 0.3),
            },
        ),
        Case(
            "every parameter gets nothing", "present", lambda: {f"grad/fc{i}.weight": flat(20, 0.0) for i in range(3)}
        ),
        Case(
            "zero at the first step only",
            "absent",
            lambda: {"grad_norm/lora_A": put(flat(50, 0.02, 0.2), 0, 0.0), "grad_norm/lora_B": flat(50, 0.3, 0.2)},
        ),
        Case("all receive one", "absent", lambda: {f"grad_norm/fc{i}": flat(50, 0.1 * i + 0.1, 0.2) for i in range(3)}),
        Case(
            "a bias that cancels out",
            "absent",
            lambda: {
                "grad_norm/head.weight": flat(50, 0.1, 0.2),
                "grad_norm/head.bias": flat(50, 0.0),
                "grad_norm/body.weight": flat(50, 0.2, 0.2),
            },
        ),
        Case(
            "the log rounds to one decimal",
            "unknown",
            lambda: {
                "grad_norm/fc1": flat(50, 0.0),
                "grad_norm/fc2": [round(0.3 + 0.1 * (i % 4), 1) for i in range(50)],
            },
        ),
        Case(
            "only a global norm, never measured",
            "unknown",
            lambda: {"grad norm": flat(50, 0.0), "loss": falling(50, 9, 4)},
        ),
    ),
)
