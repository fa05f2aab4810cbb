"""What training on one batch proves: that the model can learn, that the optimiser is the obstacle, or that the data's
scale is."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from traindx.probes.base import Deadline
from traindx.probes.overfit import Trial, reference_of, standardised, train, unscaled, with_full_rate
from traindx.probes.subject import Step, Subject
from traindx.run import Fact
from traindx.symptoms.base import clarity, num

ENOUGH = 100  # updates on one batch before its failure means anything
UNLEARNABLE = 0.9  # of the reference left after all trials
BARELY, PLAIN_BARELY = 0.95, 0.99  # left by the user's optimiser
WELL = 0.5  # left by Adam, or with scaled data
ADAM_RATES = (1e-3, 1e-2)
SLOW_ADAM = 1e-4  # for models with more parameters than MANY
MANY = 20_000_000
TRIAL_SHARE, SHORT_SHARE = 0.35, 0.15  # of the time, for a main trial and for one that only confirms
USER, ADAM, SCALED, BLIND = "your optimiser", "Adam at", "your optimiser, scaled", "Adam without inputs"


def trials_on(
    subject: Subject, deadline: Deadline, restore: Callable[[], None], between: Callable[[], bool]
) -> list[Trial]:
    """One batch, trained by the user's optimiser, by Adam, by the user's optimiser on scaled data where the data is not
    scaled and it failed, and by Adam without inputs. Each starts from the same state; `between` is asked after Adam's
    training and says whether more of it would be in vain."""
    step = subject.steps[0]
    with torch.no_grad():
        outcome = subject.outcome(step)
    first = float(outcome.loss)
    reference = reference_of(subject, step, first)
    if subject.partial or not math.isfinite(first) or reference <= 0:
        return []
    whole = deadline.left
    trials: list[Trial] = []
    if subject.optimizer is not None:
        optimizer, warms = with_full_rate(subject)
        trials.append(train(subject, step, optimizer, USER, reference, Deadline(TRIAL_SHARE * whole), ramp=warms))
        restore()
    many = sum(p.numel() for p in subject.parameters().values()) > MANY
    for number, rate in enumerate((SLOW_ADAM,) if many else ADAM_RATES):
        adam = subject.fresh_optimizer(torch.optim.Adam, lr=rate)
        share = SHORT_SHARE if number else TRIAL_SHARE
        trials.append(train(subject, step, adam, f"{ADAM} {rate:g}", reference, Deadline(share * whole)))
        vain = between()
        restore()
        if trials[-1].left < WELL or vain:
            break
    if subject.optimizer is not None and (trials[0].diverged or trials[0].left > WELL):
        for name, fits in (("inputs", unscaled(step.data)), ("targets", unscaled(step.targets))):
            if fits and deadline.left > 1:
                trials.append(_scaled(subject, step, name, Deadline(SHORT_SHARE * whole)))
                restore()
    aside = bool(outcome.outputs) and outcome.outputs[-1].dim() > 0  # targets do not go through the model
    if deadline.left > 1 and step.data and step.targets and aside:
        adam = subject.fresh_optimizer(torch.optim.Adam, lr=ADAM_RATES[0])
        short = Deadline(min(SHORT_SHARE * whole, deadline.left))
        trials.append(train(subject, step, adam, BLIND, reference, short, swap=torch.zeros_like))
        restore()
    return trials


def _scaled(subject: Subject, step: Step, what: str, deadline: Deadline) -> Trial:
    swap, targets = (standardised, None) if what == "inputs" else (None, standardised)
    with torch.no_grad():
        first = float(subject.loss(step, swap, targets=targets))
    optimizer, warms = with_full_rate(subject)
    return train(subject, step, optimizer, f"{SCALED} {what}", first, deadline, ramp=warms, swap=swap, targets=targets)


def facts_of(subject: Subject, trials: list[Trial]) -> list[Fact]:
    """What the trials prove. A trial that was cut short proves nothing."""
    user = next((trial for trial in trials if trial.name == USER), None)
    adams = [trial for trial in trials if trial.name.startswith(ADAM)]
    if not adams:
        return []
    best = min(adams, key=lambda trial: trial.best)
    main = [*adams, *([user] if user else [])]
    size = subject.steps[0].size
    facts: list[Fact] = []
    if all(trial.best > UNLEARNABLE and (trial.steps >= ENOUGH or trial.broke) for trial in main):
        who = " or ".join(trial.name for trial in main)
        sentence = (
            f"After {best.steps} updates on one batch of {size} the loss is still {left(best)} of what a constant "
            f"answer reaches (with {who})."
        )
        facts.append(Fact("batch-not-learned", True, sentence))
    elif min(trial.best for trial in main) < WELL:
        sentence = (
            f"One batch of {size} is learned: {left(min(main, key=lambda trial: trial.best))} of the loss is left."
        )
        facts.append(Fact("batch-not-learned", False, sentence))
    if user is None or subject.optimizer is None:
        return facts
    cure = _cure(user, trials)
    if cure and cure[0].present:
        return facts + cure
    return facts + cure + _optimiser(user, best, float(subject.optimizer.param_groups[0].get("lr", math.nan)))


def _cure(user: Trial, trials: list[Trial]) -> list[Fact]:
    scaled = [trial for trial in trials if trial.name.startswith(SCALED)]
    if not scaled:
        return []
    best = min(scaled, key=lambda trial: trial.left if not trial.diverged else math.inf)
    what = best.name.removeprefix(f"{SCALED} ")
    began = f"Trained on one single batch, your optimiser {_ending(user)}"
    if not best.diverged and best.best < WELL:
        sentence = (
            f"{began}; with the {what} scaled to mean 0 and spread 1 it leaves {left(best)} after {best.steps} updates."
        )
        return [Fact("scaling-cures", True, sentence, what), Fact(f"{what}-unscaled", True, sentence, what)]
    return [Fact("scaling-cures", False, f"{began}, with the {what} scaled as well.", what)]


def _optimiser(user: Trial, best: Trial, rate: float) -> list[Fact]:
    """Whether the user's optimiser is the obstacle, where Adam is not."""
    if not user.diverged and user.left < WELL:
        sentence = f"Your optimiser brings one batch down to {left(user)} in {user.steps} updates."
        return [Fact("batch-diverges", False, sentence), Fact("batch-barely-moves", False, sentence)]
    began = f"Trained on one single batch, your optimiser (learning rate {rate:g}) {_ending(user)}"
    if user.diverged and best.left < WELL:
        return [Fact("batch-diverges", True, f"{began}; {best.name} brings it down to {num(best.late)}.")]
    if not user.diverged and user.steps >= ENOUGH and user.best > BARELY and best.best < WELL:
        clear = clarity(user.best, BARELY, PLAIN_BARELY)
        return [Fact("batch-barely-moves", True, f"{began}; {best.name} leaves {left(best)}.", clarity=clear)]
    return []


def _ending(trial: Trial) -> str:
    if trial.diverged:
        return f"drives the loss from {num(trial.losses[0])} to {end(trial)}"
    return f"leaves {left(trial)} of the loss after {trial.steps} updates"


def left(trial: Trial) -> str:
    if not trial.best < 10:
        return "more than it began with"
    return f"{trial.best:.1%}"


def end(trial: Trial) -> str:
    return "NaN or Inf" if trial.broke else num(trial.losses[-1])
