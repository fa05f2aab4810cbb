"""What a fix is: the change itself, ready to paste, how safe it is and what it costs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from traindx.diagnosis import FixProposal, Safety

_OPTIMIZER = re.compile(r"torch\.optim\.(\w+)\(")
_SETTINGS = re.compile(r"[a-z_]+(=[\w.-]+)?(\+[a-z_]+(=[\w.-]+)?)*")  # without a number that the run does not tell
_ADAPTIVE = ("adam", "rmsprop", "adagrad")  # their steps do not shrink with the gradient
# Adam moves a weight by up to the rate itself in one step (Kingma and Ba 2015, 2.1), and weights of a layer with 100
# inputs begin at about 0.1. Its default is 1e-3, and published recipes lie below 3e-3 (signals/rates.py: USUAL_LR).
_USUAL_ADAM, _LARGEST_ADAM = 3e-3, 0.1
# SGD: 0.1 for a batch of 256, scaled linearly up to 3.2 for 8192 (Goyal et al. 2017).
_USUAL_SGD, _LARGEST_SGD = 0.5, 3.2
TRAINER = "Trainer"  # what the facts of a run say of a loop of Hugging Face's Trainer, or one built on it
Judged = Literal["error", "recall", "speed", "symptom"]


@dataclass(frozen=True)
class Fix:
    """`code` is Python (or a shell line) in which `{lr}`-like fields are filled with the run's own numbers, or with
    `defaults` where the run does not tell. `clears` are the symptoms that must be gone afterwards: a trial checks them.
    `why_safe` gives the reason for the safety: 'safe' changes nothing that already works, 'caution' may slow or weaken
    the training, 'disruptive' changes the model or needs a new run from the start. `tries` are the changes a trial
    makes to see whether it helps, as `traindx trial --set` takes them, one trial each ('a+b' changes both); a fix
    without any is made by hand. `writes` is the change that the page proposes, with the run's numbers, where that is
    not the first of `tries`. `judged_by`: 'error', or 'recall' of all classes alike, or 'speed', or 'symptom' where
    an honest run has the higher error. `in_trainer`: the code where the loop is that of a Hugging Face Trainer, whose
    script has neither optimiser nor loop of its own."""

    id: str
    title: str
    code: str
    safety: Safety
    why_safe: str
    clears: tuple[str, ...]
    doc: str
    defaults: Mapping[str, str] = field(default_factory=dict)
    tries: tuple[str, ...] = ()
    writes: str = ""
    judged_by: Judged = "error"
    in_trainer: str = ""

    def proposal(self, facts: Mapping[str, str]) -> FixProposal:
        code = self.in_trainer if self.in_trainer and facts.get("loop") == TRAINER else self.code
        named = _OPTIMIZER.search(self._filled(code, facts))
        usable = _plausible(facts, "" if named is None else named.group(1).lower())
        lines = []
        for line in code.strip("\n").split("\n"):
            statement, mark, comment = line.partition("  # ")  # what the run had is said as it was, whatever it was
            lines.append(self._filled(statement, usable) + mark + self._filled(comment, facts))
        return FixProposal(self.id, self.title, "\n".join(lines), self.safety, self._change(usable))

    def _change(self, facts: Mapping[str, str]) -> str:
        """What the page proposes as a trial sets it: the run's own numbers, never a default."""
        text = self.writes or next(iter(self.tries), "")
        for name, value in facts.items():
            text = text.replace("{" + name + "}", value)
        return text if _SETTINGS.fullmatch(text) else ""

    def _filled(self, text: str, facts: Mapping[str, str]) -> str:
        for name, default in self.defaults.items():
            text = text.replace("{" + name + "}", facts.get(name, default))
        return text


def _plausible(facts: Mapping[str, str], optimizer: str) -> dict[str, str]:
    """The numbers with learning rates that this optimiser can train with; a rate that it cannot is left to the script's
    own `lr`."""
    usable = dict(facts)
    if "lr" not in facts:
        return usable
    adaptive = any(word in optimizer for word in _ADAPTIVE)
    usual, largest = (_USUAL_ADAM, _LARGEST_ADAM) if adaptive else (_USUAL_SGD, _LARGEST_SGD)
    lr = float(facts["lr"])
    for name in ("lower_lr", "higher_lr"):
        rate = facts.get(name)
        if rate is None:
            continue
        if rate == facts.get("measured_lr"):  # on this very script
            usable[name] = f"{min(float(rate), largest):.3g}"
        elif name == "higher_lr" and lr >= usual:
            usable[name] = "3 * lr"
        else:
            usable[name] = f"{min(float(rate), usual):.3g}"
    if lr > largest:
        usable["lr"] = "lr"
    return usable
