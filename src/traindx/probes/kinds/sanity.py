"""Ask what one asks before training: can it learn one batch, does it use its inputs, does it start at chance?"""

from __future__ import annotations

import math

import torch

from traindx.probes import checks, reach
from traindx.probes.base import Deadline, Probe
from traindx.probes.checks import Answer
from traindx.probes.learning import BLIND, UNLEARNABLE, end, facts_of, left, trials_on
from traindx.probes.overfit import Trial, chance_level
from traindx.probes.overlap import seen_in_training
from traindx.probes.subject import Subject
from traindx.reading import Chart, Line, Mark, Reading, Table
from traindx.run import Fact
from traindx.symptoms.base import num

ID = "sanity"
HIGH = 3.0  # times chance level, and at least as many nats above it
START = "loss at the start"
_WORDS = {True: "problem", False: "ok", None: "unknown"}
_DATA = ("input", "target", "held-out input", "held-out target")  # rows that only describe
OVERLAP_SECONDS = 2.0  # to look for samples that are trained on and held out


def measure(subject: Subject, deadline: Deadline) -> Reading:
    step = subject.steps[0]
    rows: list[tuple[str, Answer]] = []
    facts: list[Fact] = []

    def ask(name: str, answer: Answer, fact: str | None = None, clear: float = 1.0) -> Answer:
        rows.append((name, answer))
        if fact is not None and answer.problem is not None:
            sentence = answer.sentence[0].upper() + answer.sentence[1:] + "."
            facts.append(Fact(fact, answer.problem, sentence, clarity=clear if answer.problem else 1.0))
        return answer

    def input_unused() -> bool:
        known = any(name == "the input is used" for name, _ in rows)
        answer = checks.input_unused(subject, step)
        return bool((answer if known else ask("the input is used", answer, "prediction-collapse")).problem)

    state = subject.extra_state()
    ask("inputs are finite", checks.data_broken(subject), "nonfinite-inputs")
    rows += checks.data_ranges(step)
    if subject.held_out:
        rows += checks.data_ranges(subject.held_out[0], "held-out ")
        answer, clear = checks.inputs_differ(subject)
        ask("held-out inputs are alike", answer, "val-inputs-differ", clear)
    answer, clear = seen_in_training(subject, Deadline(min(OVERLAP_SECONDS, deadline.left / 4)))
    ask("held-out samples are new", answer, "validation-seen-in-training", clear)
    ask(START, _start(subject), "high-initial-loss")
    ask("the same twice", checks.deterministic(subject, step))
    ask("training and evaluation agree", checks.modes_differ(subject, [step]))
    if subject.held_out:
        ask("and on held-out batches", checks.modes_differ(subject, subject.held_out))
    ask("samples are independent", checks.samples_mixed(subject, step), "samples-mixed")
    ask("the future is hidden", checks.sees_future(subject, step), "sees-the-future")
    ask("gradients reach everything", reach.unreached(subject), "no-gradient")
    ask("numbers within their type", reach.near_limits(subject))
    state.restore()
    ask("an update moves the weights", reach.unmoved(subject))
    state.restore()
    trials = trials_on(subject, deadline, state.restore, input_unused)
    facts += facts_of(subject, trials)
    stated = [name for name, answer in rows if name in _DATA or (name == START and answer.problem is None)]
    table = [(name, "" if name in stated else _WORDS[answer.problem], answer.sentence) for name, answer in rows]
    table += [
        (f"one batch, {t.name}", _word(t), f"{num(t.losses[0])} to {end(t)} in {t.steps} updates") for t in trials
    ]
    sentence = "; ".join(f"{trial.name}: {left(trial)} of the loss is left" for trial in trials)
    return Reading(
        ID, f"One batch of {step.size}: {sentence}." if sentence else "No trial on one batch was made.", tuple(facts),
        tables=(Table("", ("check", "result", "measured"), tuple(table)),), charts=_charts(trials),
        unknown=tuple(f"{name}: {answer.sentence}." for name,
                      answer in rows if answer.problem is None and name not in stated),
    )  # fmt: skip


def _start(subject: Subject) -> Answer:
    """The first loss against what an answer without knowledge would get."""
    with torch.no_grad():
        losses = [float(subject.loss(step)) for step in subject.steps]
    loss = sum(losses) / len(losses)
    if subject.step:
        return Answer(None, f"{num(loss)} after {subject.step} updates")
    if any(len(step.parts) > 1 for step in subject.steps):
        return Answer(None, f"{num(loss)}, summed over accumulated parts")
    chance = (
        math.log(subject.classes)
        if subject.classes and subject.classes > 1
        else chance_level(subject, subject.steps[0])
    )
    if chance is None or chance <= 0:
        return Answer(None, f"{num(loss)}; what chance would be is not known")
    times = f", {num(loss / chance)} times that of a constant answer" if loss > HIGH * chance else ""
    sentence = f"initial loss {num(loss)}, chance {num(chance)}{times}"
    if subject.loss_name not in ("cross_entropy", "nll_loss"):
        return Answer(None, sentence)
    return Answer(bool(loss > HIGH * chance and loss > chance + HIGH), sentence)


def _word(trial: Trial) -> str:
    if trial.name == BLIND:
        return ""
    return "problem" if trial.diverged or trial.best > UNLEARNABLE else "ok"


def _charts(trials: list[Trial]) -> tuple[Chart, ...]:
    if not trials:
        return ()
    lines = tuple(
        Line(t.name, tuple(float(i) for i in range(t.steps)), tuple(x if math.isfinite(x) else None for x in t.losses))
        for t in trials
    )
    mark = Mark(trials[0].reference, "constant answer or first loss", "y")
    return (Chart("Training on one batch", "updates", "loss", lines, (mark,), log_y=True),)


PROBE = Probe(ID, "sanity", measure, seconds=24.0)
