"""What to do: the fixes with the run's own numbers, what was not measured and how to get it, the next thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from traindx.causes import causes
from traindx.diagnosis import Missing, Observation
from traindx.engine import words
from traindx.engine.context import peak_lr
from traindx.engine.rank import Ranked
from traindx.signals import Signals, lookup
from traindx.symptoms import symptoms

CONTENDERS = 6  # explanations that missing evidence may still decide between
MOST_MISSING = 4

# How to get the evidence that symptoms name in `needs`.
HOW: Mapping[str, str] = {
    "validation loss": "log a validation loss once per epoch and run `traindx diagnose` again",
    "validation loss or score": "log a validation loss once per epoch and run `traindx diagnose` again",
    "validation score or loss": "log a validation loss once per epoch and run `traindx diagnose` again",
    "number of classes": "traindx diagnose {source} --classes N",
    "learning rate": "log scheduler.get_last_lr()[0] with each loss and run `traindx diagnose` again",
    "gradient norm": "traindx run train.py records it (or log what torch.nn.utils.clip_grad_norm_ returns)",
    "planned steps or epochs": "traindx diagnose {source} --config config.yaml",
    "training loss": "log the training loss every few steps and run `traindx diagnose` again",
    "loss": "log the training loss every few steps and run `traindx diagnose` again",
    "loss from the first step": "log from step 0 on and run `traindx diagnose` again",
    "step time": "log the seconds each step takes, and those spent waiting for data",
    "data loading time": "log the seconds each step waits for data beside the seconds it takes",
}


def facts(signals: Signals) -> dict[str, str]:
    """The run's own numbers for the code of a fix."""
    told: dict[str, str] = {}
    lr = peak_lr(signals)
    if lr is not None and lr > 0:
        told |= {"lr": f"{lr:.3g}", "lower_lr": f"{lr / 10:.3g}", "higher_lr": f"{lr * 10:.3g}"}
    batch = lookup.number(signals.run.config, "batch_size")
    if batch is not None and batch >= 1:
        told |= {"batch_size": f"{batch:.0f}", "double_batch": f"{2 * batch:.0f}"}
    for name in ("weight_decay", "dropout", "clip", "epochs"):
        value = lookup.number(signals.run.config, name)
        if value is not None:
            told[name] = f"{value:g}"
    workers = lookup.number(signals.run.config, "workers")
    if workers is not None:
        told["num_workers"] = f"{workers:.0f}"
    if signals.classes is not None:
        told["classes"] = str(signals.classes[0])
    steps = (
        signals.planned[0] if signals.planned is not None and signals.planned[1] == "step" else float(signals.run.steps)
    )
    if steps > 20:
        told |= {"total_steps": f"{steps:.0f}", "warmup_steps": f"{max(1, steps * 0.05):.0f}"}
    best = signals.val if signals.val is not None and len(signals.val) else signals.main
    if best is not None and len(best):
        told["best_step"] = f"{best.best_at:g}"
    return told


def missing(signals: Signals, observations: Sequence[Observation], ranked: Sequence[Ranked]) -> tuple[Missing, ...]:
    """Unmeasured symptoms that would move the contenders apart, most telling first, one entry for each kind of evidence."""
    table, known = causes(), symptoms()
    contenders = [entry for entry in ranked[: CONTENDERS + 2] if entry.cause in table][:CONTENDERS]
    found: dict[str, tuple[float, list[str]]] = {}
    for observation in observations:
        symptom = known[observation.id]
        if observation.state != "unknown":
            continue
        decides: list[tuple[float, str]] = []
        for entry in contenders:
            word = table[entry.cause].predicts.get(symptom.id)
            if word is not None:
                decides.append((entry.probability * abs(words.STRENGTH[word] - symptom.background), entry.cause))
        weight = sum(value for value, _ in decides)
        for need in _lacking(signals, symptom.needs):
            score, named = found.setdefault(need, (0.0, []))
            named += [cause for _, cause in sorted(decides, reverse=True)[:3] if cause not in named]
            found[need] = (max(score, weight), named)
    ordered = sorted(found.items(), key=lambda item: -item[1][0])
    return tuple(
        Missing(need, tuple(named[:4]), HOW[need].format(source=signals.run.source))
        for need, (score, named) in ordered[:MOST_MISSING]
        if need in HOW and (score > 0.01 or need.startswith("validation"))
    )


def _regression(signals: Signals) -> bool:
    """A recording saw targets that are no class numbers."""
    return str(signals.run.config.get("target_dtype", "")).startswith(("float", "bfloat"))


def _lacking(signals: Signals, needs: Sequence[str]) -> list[str]:
    """Which of these pieces of evidence the run really does not have."""
    have = {
        "loss": signals.train is not None, "training loss": signals.train is not None,
        "loss from the first step": False,
        "validation loss": signals.val is not None or signals.kind != "supervised",
        "validation loss or score": signals.val is not None or signals.score is not None or signals.kind != "supervised",
        "validation score or loss": signals.val is not None or signals.score is not None or signals.kind != "supervised",
        "number of classes": signals.classes is not None or signals.kind != "supervised" or _regression(signals),
        "learning rate": signals.lr is not None, "gradient norm": signals.grad_norm is not None,
        "planned steps or epochs": signals.planned is not None,
        "step time": bool(signals.run.of("step_time")), "data loading time": bool(signals.run.of("data_time")),
    }  # fmt: skip
    return [need for need in needs if not have.get(need, False) and need != "loss from the first step"]
