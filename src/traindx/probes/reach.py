"""Does every parameter receive a gradient and move with an update, and do numbers stay within the range of their
type?"""

from __future__ import annotations

import torch

from traindx.live.events.naming import listed
from traindx.probes.checks import Answer
from traindx.probes.looking import Seen, looking, weighted
from traindx.probes.subject import Subject

UNREACHED = 0.2  # of the weights: less is a head that this loss does not use
NEAR_LIMIT = 0.25  # of the largest number a type holds: the square or the sum of a few is beyond it


def unreached(subject: Subject) -> Answer:
    """Weights of layers that run, wanted by the optimiser, that the loss of no batch reaches."""
    reached: set[str] = set()
    asked: set[str] = set()
    ran = _layers_that_run(subject)
    for step in subject.steps:
        for name, gradient in subject.gradients(step).items():
            asked.add(name)
            if gradient is not None:
                reached.add(name)
    weights = subject.parameters()
    silent = [name for name in weights if name in asked - reached and name.rpartition(".")[0] in ran]
    total = sum(weights[name].numel() for name in asked)
    if not total:
        return Answer(None, "nothing is trained")
    share = sum(weights[name].numel() for name in silent) / total
    if share >= UNREACHED:
        return Answer(
            True,
            f"{len(silent)} of {len(asked)} trained tensors ({share:.0%} of the weights) run in the forward pass and "
            f"no batch gives "
            f"them a gradient: {listed(silent)}",
        )  # fmt: skip
    rest = f", except {listed(silent)}" if silent else ""
    return Answer(False, f"{len(reached)} of {len(asked)} trained tensors receive a gradient{rest}")


def unmoved(subject: Subject) -> Answer:
    """Tensors with a gradient that one update of the user's optimiser leaves bit for bit as they were."""
    if subject.optimizer is None:
        return Answer(None, "no optimiser is known")
    before = {name: tensor.detach().clone() for name, tensor in subject.parameters().items()}
    gradients = subject.gradients(0)
    subject.update(0, subject.optimizer, same_noise=True)
    pushed = [name for name, gradient in gradients.items() if gradient is not None and bool((gradient != 0).any())]
    still = [name for name in pushed if torch.equal(before[name], subject.parameters()[name].detach())]
    if not pushed:
        return Answer(None, "no gradient is other than zero")
    if len(still) == len(pushed):
        return Answer(True, f"one update leaves all {len(pushed)} tensors that have a gradient as they were")
    rest = f", except {listed(still)}" if still else ""
    return Answer(
        False, f"one update moves {len(pushed) - len(still)} of {len(pushed)} tensors that have a gradient{rest}"
    )


def near_limits(subject: Subject) -> Answer:
    """The largest number a layer puts out, against the largest its type holds. Only half precision has a limit in
    reach."""
    largest: tuple[float, str, str] | None = None

    def tell(seen: Seen) -> None:
        nonlocal largest
        if seen.output.dtype == torch.float16:
            share = float(seen.output.detach().abs().amax()) / torch.finfo(torch.float16).max
            if largest is None or not share <= largest[0]:
                largest = (share, seen.name, "float16")

    with torch.no_grad(), looking(subject, tell, functions=False):
        subject.loss(0)
    if largest is None:
        return Answer(False, "no layer puts out 16-bit floats with a narrow range")
    share, name, kind = largest
    sentence = f"the largest output, of {name}, is at {share:.2g} of what {kind} holds"
    return Answer(not share < NEAR_LIMIT, sentence)


def _layers_that_run(subject: Subject) -> set[str]:
    ran: set[str] = set()
    with torch.no_grad(), looking(subject, lambda seen: ran.add(seen.name), functions=False):
        subject.loss(0)
    others = {name for name, layer in subject.layers().items() if not weighted(layer)}
    return ran | others
