"""What to do: the fixes with the run's own numbers, what was not measured and how to get it, the next thing."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from traindx import commands
from traindx.diagnosis import ANSWERS, Hypothesis, Missing, Observation
from traindx.engine.context import FIRST_LOOK
from traindx.engine.evidence import Evidence
from traindx.engine.next_evidence import Gain, gains
from traindx.engine.ways import Way
from traindx.fixes import fixes
from traindx.fixes.base import TRAINER
from traindx.lines.length import length_of
from traindx.run import PROBES
from traindx.signals import Signals, lookup
from traindx.signals.inside import opening_ratio, ratio_curves
from traindx.signals.rates import peak_lr

MOST_MISSING = 3
VALIDATION = "validation loss"
UNITS = frozenset({"dead-units", "saturated-units"})
OF_UPDATES = frozenset({"lr", "warmup", "scheduler", "decay", "clip", "momentum"})  # settings that act through updates
LEAST_BITS = 0.05  # evidence that would settle less than this is not worth a line
USUAL_UPDATE = 1e-2  # of the weights: the upper end of what one update changes in trainings that work
# by what logs and recordings call them
OPTIMIZERS = {
    name.lower(): name
    for name in ("SGD", "Adam", "AdamW", "NAdam", "RAdam", "RMSprop", "Adagrad", "Adadelta", "Adamax", "ASGD", "Rprop")
}
HUGGING_FACE = "hf-trainer"  # the format of its logs
OF_A_TRAINER = "per_device_train_batch_size"  # an argument that no other trainer has
MEASURED_RATE = "probe.lr"  # the setting that `traindx lr-range` leaves
SCRIPT = "train.py"  # what commands call a script that nobody named

# Ways that a run of this format has gone already, or that do not exist for it.
GONE: Mapping[str, frozenset[str]] = {
    "recording": frozenset({"recording", "ask", "learning rate", "training loss", "step time", "config"}),
    ANSWERS: frozenset({"ask", "classes", "config", "learning rate", "training loss", "step time", "validation loss"}),
}


def facts(signals: Signals) -> dict[str, str]:
    """The run's own numbers for the code of a fix."""
    reported = _loop(signals)
    lr = peak_lr(signals)
    if lr is not None and lr > 0:
        reported |= {"lr": f"{lr:.3g}", "lower_lr": f"{lr / _times_less(signals):.3g}", "higher_lr": f"{lr * 10:.3g}"}
        reported |= _measured_rate(signals, lr)
    named = str(lookup.setting(signals.run.config, "optimizer") or "").rpartition(".")[2].lower()
    if named in OPTIMIZERS:
        reported["optimizer"] = OPTIMIZERS[named]
    batch = lookup.number(signals.run.config, "batch_size")
    if batch is not None and batch >= 1:
        reported |= {"batch_size": f"{batch:.0f}", "double_batch": f"{2 * batch:.0f}"}
    for name in ("weight_decay", "dropout", "clip", "epochs"):
        value = lookup.number(signals.run.config, name)
        if value is not None:
            reported[name] = f"{value:g}"
    workers = lookup.number(signals.run.config, "workers")
    if workers is not None:
        reported["num_workers"] = f"{workers:.0f}"
    if signals.classes is not None:
        reported["classes"] = str(signals.classes[0])
    reported |= _length(signals)
    steps = (
        signals.planned[0] if signals.planned is not None and signals.planned[1] == "step" else float(signals.run.steps)
    )
    if steps > 20:
        reported |= {"total_steps": f"{steps:.0f}", "warmup_steps": f"{max(1, steps * 0.05):.0f}"}
    best = signals.val if signals.val is not None and len(signals.val) else signals.main
    if best is not None and len(best):
        reported["best_place"] = best.at(best.lowest_at)
    return reported


def _length(signals: Signals) -> dict[str, str]:
    """What the script calls its length, and the number; else what the settings give."""
    found = length_of(signals.run.measured)
    if found is not None:
        name, number = found
        return {"length": name, "length_now": name if number is None else f"{number:.12g}"}
    if signals.planned is None:
        return {}
    number, unit = signals.planned
    return {"length": f"{unit}s", "length_now": f"{number:.12g}"}


def _loop(signals: Signals) -> dict[str, str]:
    """Whose the training loop is, where it is not the script's."""
    run = signals.run
    own = run.format != HUGGING_FACE and not any(name.endswith(OF_A_TRAINER) for name in run.config)
    return {} if own else {"loop": TRAINER}


def suited_to_the_start(hypothesis: Hypothesis, observations: Sequence[Observation]) -> Hypothesis:
    """What units were from the first look on no update has made: changes of updates come after those of the start."""
    made = [o for o in observations if o.id in UNITS and o.state == "present" and o.evidence in hypothesis.supports]
    if hypothesis.fix is None or not any(o.steps is not None and o.steps[0] <= FIRST_LOOK for o in made):
        return hypothesis
    remedies = fixes()
    proposals = sorted(
        [hypothesis.fix, *hypothesis.alternatives],
        key=lambda fix: {tried.partition("=")[0] for tried in remedies[fix.id].tries or ("",)} <= OF_UPDATES,
    )
    return replace(hypothesis, fix=proposals[0], alternatives=tuple(proposals[1:]))


def _measured_rate(signals: Signals, lr: float) -> dict[str, str]:
    """What short trainings at several rates have found: a page that shows them names no other rate."""
    found = signals.run.config.get(MEASURED_RATE)
    if not isinstance(found, int | float) or not math.isfinite(found) or found <= 0:
        return {}
    rate = f"{found:.2g}"
    return {"measured_lr": rate, "lower_lr" if found < lr else "higher_lr": rate}


def _times_less(signals: Signals) -> float:
    """How much lower a rate to begin with: ten times, or as many tens as the first updates were too large by."""
    ratio = opening_ratio(ratio_curves(signals.run))
    return 10.0 ** max(1, round(math.log10(ratio / USUAL_UPDATE))) if ratio > 0 and math.isfinite(ratio) else 10.0


def sources(signals: Signals, evidence: Evidence, *, simulate: bool, asked: bool = False) -> list[Gain]:
    """What could still be looked at in this run, best first; somebody who was `asked` is not sent to be asked."""
    return gains(evidence, _gone(signals) | ({"ask"} if asked else set()), simulate=simulate)


def about(found: Sequence[Gain], cause: str) -> list[Gain]:
    """The same with a source in front that decides this cause, if any does: the page speaks of it first, and so should
    what to do next."""
    looks = (gain for gain in found if gain.way.kind != "trial" and gain.bits >= LEAST_BITS)
    deciding = next((gain for gain in looks if cause in gain.decides), None)
    return list(found) if deciding is None else [deciding, *(gain for gain in found if gain is not deciding)]


def missing(signals: Signals, found: Sequence[Gain]) -> tuple[Missing, ...]:
    """The evidence that would move the explanations apart, most telling for its cost first (a trial is no evidence that
    is missing); a missing validation loss is always said, because without it nobody knows whether the model
    generalises."""
    worth = [gain for gain in found if gain.bits >= LEAST_BITS and gain.decides and gain.way.kind != "trial"][
        :MOST_MISSING
    ]
    unseen = [gain for gain in found if gain.way.id == VALIDATION and gain not in worth]
    kept = [*worth[: MOST_MISSING - len(unseen)], *unseen]
    return tuple(Missing(gain.way.evidence, gain.decides, command(gain.way, signals)) for gain in kept)


def command(way: Way, signals: Signals) -> str:
    """The way as something to type, with this run's own names in it."""
    script = str(signals.run.config.get("recording.script") or SCRIPT)
    return commands.typed(way.command, script=script, source=signals.run.source)


def settle(gain: Gain, signals: Signals, among: Collection[str], *, well: bool = False) -> str:
    """One sentence: the thing to do, what it needs and what it would decide `among` the causes that the page names.
    `well`: the run may be all right."""
    decides = [cause for cause in gain.decides if cause in among]
    inside = " (PyTorch)" if gain.way.kind in ("recording", "probe") else ""
    shown = command(gain.way, signals)
    action = f"Run `{shown}`{inside}" if commands.is_typed(shown) else f"{shown[0].upper()}{shown[1:]}"
    if well and decides:
        return f"{action}: it can tell a healthy run apart from {_listed(decides)}."
    if len(decides) > 1:
        return f"{action}: it can tell {decides[0]} apart from {_listed(decides[1:])}."
    if decides:
        return f"{action}: it can confirm or rule out {decides[0]}."
    lacking = ", which the log does not have" if gain.way.kind == "recording" else ""
    return f"{action}: it shows {gain.way.evidence}{lacking}."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _regression(signals: Signals) -> bool:
    """A recording saw targets that are no class numbers."""
    return str(signals.run.config.get("target_dtype", "")).startswith(("float", "bfloat"))


def _gone(signals: Signals) -> frozenset[str]:
    """Ways whose evidence this run has, or that it cannot go."""
    unsupervised = signals.kind != "supervised"
    have = {
        "training loss": signals.train is not None,
        VALIDATION: signals.val is not None or unsupervised,
        "classes": signals.classes is not None or unsupervised or _regression(signals),
        "learning rate": signals.lr is not None,
        "config": signals.planned is not None,
        "step time": bool(signals.run.of("step_time")) and bool(signals.run.of("data_time")),
        "checkpoint": signals.run.format == "checkpoint",
        "sanity": unsupervised,  # there is no batch to fit by heart in a game or against an adversary
        "lr-range": unsupervised,
    }
    probed = str(signals.run.config.get(PROBES, "")).split(
        ", "
    )  # what they could not measure they will not measure now
    return GONE.get(signals.run.format, frozenset()) | {*probed} | {name for name, held in have.items() if held}
