"""The loss that `backward` is called on: how it was made from the loss function's result, or by hand from the outputs.

A criterion that is summed and never divided scales the step with the batch; one with its sign turned is maximised; two shapes
that broadcast leave their trace in the graph of a loss that was written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from traindx.live.direction import Direction
from traindx.live.findings import Finding
from traindx.live.handmade import is_error
from traindx.live.nodes import above, chain, dim_of, inputs, kind_of, shape_of, written
from traindx.live.observer import Criterion
from traindx.live.outputs import SOFTMAXES
from traindx.live.places import user_line
from traindx.live.signs import sign_of_error

# Losses that are at least 0 and are there to be made small.
MINIMISED = frozenset((
    "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
))  # fmt: skip
SCALING = frozenset(
    ("Mul", "Div", "Neg", "ToCopy", "View", "Squeeze", "Clone")
)  # between a criterion's result and `backward`
TERMS = frozenset(("Add", "View", "Squeeze", "ToCopy", "Clone"))
PICKING = SCALING | frozenset(("Mean", "Sum", "Index", "Gather", "Select", "Unsqueeze", "NllLoss", "NllLoss2D"))
ELEMENTWISE = SCALING | frozenset(
    (
        "Mean",
        "Sum",
        "Add",
        "Sub",
        "Rsub",
        "Pow",
        "Abs",
        "Sqrt",
        "Log",
        "Exp",
        "Where",
        "Clamp",
        "Maximum",
        "Minimum",
        "Square",
        "Norm",
    )
)
NOT_SCALE_FREE = ("SGD", "ASGD")  # Adam and its kin divide the gradient by its own size
STEEP = 0.5  # rate times summed samples: above every usual rate for SGD on a mean loss
SUSPECT = 0.1
AGREEING = 3  # backward calls in a row that tell the same story
SMALL_BATCH = 4


Made = dict[int, tuple[Criterion, torch.Tensor]]


class Losses:
    """Follows the loss from the loss function to the step."""

    def __init__(self) -> None:
        self.batch = 0  # samples the model was last called with
        self.where = ""
        self._made: Made = {}  # criterion results since the last step, by graph node
        self._summed = 0  # samples summed without a division in the last backward
        self._how = ""
        self._upside_down = self._upright = self._backwards = 0
        self._sign = ""
        self._optimizers: set[int] = set()
        self.direction = Direction()

    @property
    def made(self) -> bool:
        """Whether a loss function of torch was called since the last `backward`."""
        return bool(self._made)

    def criterion(self, call: Criterion) -> None:
        if call.output.grad_fn is not None and len(self._made) < 16:
            self._made[call.output.grad_fn._sequence_nr()] = (call, call.output.detach())

    def backward(self, loss: torch.Tensor, *, readable: bool) -> Iterator[Finding]:
        """`readable` says that no hooks of the user pack what the graph keeps."""
        made, self._made = self._made, {}
        nodes = list(chain(loss, PICKING))
        found = next(((i, made[n._sequence_nr()]) for i, n in enumerate(nodes) if n._sequence_nr() in made), None)
        self.where = found[1][0].where if found is not None else next((call.where for call, _ in made.values()), "")
        self._backwards += 1
        kinds = [kind_of(node) for node in nodes]
        self._size(loss, found, made, kinds, nodes)
        sign = sign_of_error(loss, is_error) if readable and not made else 0
        turned = self._turned(loss, found, kinds) if sign >= 0 else True
        if sign < 0:
            self.where = user_line()
            self._sign = "The errors of the outputs count with a minus in the loss that is written out: training makes them larger."
        self._upside_down = self._upside_down + 1 if turned else 0
        self._upright += (found is not None or sign > 0) and not turned
        if not made:
            yield from self._by_hand(loss)

    def step(self, optimizer: torch.optim.Optimizer, step: int) -> Iterator[Finding]:
        kind = type(optimizer).__name__
        rate = max(
            (float(group["lr"]) for group in optimizer.param_groups if isinstance(group.get("lr"), float)), default=0.0
        )
        if self._backwards < 2 or not self._how:
            return
        if not self._summed:
            yield Finding("loss-summed", False, self._how)
        elif self._summed >= SMALL_BATCH and kind in NOT_SCALE_FREE and rate * self._summed >= SUSPECT:
            sure = 1.0 if rate * self._summed >= STEEP else 0.6
            text = f"{self._how} With {kind} this multiplies the learning rate of {rate:g} by {self._summed}."
            yield Finding("loss-summed", True, text, sure)

    def updated(self, optimizer: torch.optim.Optimizer) -> Iterator[Finding]:
        """Whether the update that was just made makes the error smaller or larger."""
        self._optimizers.add(id(optimizer))
        self.direction.after()
        alone = len(self._optimizers) == 1  # several may pull in turns, as adversaries do
        upright = self._upright >= AGREEING and not self._upside_down
        turned = self._upside_down >= AGREEING and self._upside_down == self._backwards
        if turned and alone and not any(group.get("maximize") for group in optimizer.param_groups):
            yield Finding("loss-maximised", True, self._sign)
        elif upright and alone and self.direction.climbs:
            yield Finding("loss-maximised", True, self.direction.text)
        elif upright:
            yield Finding("loss-maximised", False, "The loss given to backward has the sign of the error.")

    def _size(
        self,
        loss: torch.Tensor,
        found: tuple[int, tuple[Criterion, torch.Tensor]] | None,
        made: Made,
        kinds: list[str],
        nodes: list[object],
    ) -> None:
        """How many samples the loss sums up without dividing."""
        self._summed, self._how = 0, ""
        if found is not None:
            place, (call, value) = found
            if call.options.get("reduction") != "sum":
                if value.numel() == 1:
                    self._how = f"{call.name} is averaged over the batch."
            elif "Div" in kinds[:place] or "Mul" in kinds[:place]:
                self._how = f"{call.name} is summed and then scaled."
            else:
                self._summed = call.target.shape[0] if call.target.dim() else 1
                self._how = f"{call.name} is called with reduction='sum' over {self._summed} samples and never divided."
        elif (term := _added(loss, made)) is not None:
            self._summed = term.target.shape[0] if term.target.dim() else 1
            self._how = f"{term.name} is called with reduction='sum' over {self._summed} samples, added to the loss and never divided."
            self.where = term.where
        elif kinds and kinds[0] == "Sum":
            sizes = tuple(int(size) for size in getattr(nodes[0], "_saved_self_sym_sizes", ()))
            if sizes and sizes[0] == self.batch > 1:
                self._summed = sizes[0]
                self._how = f"The loss is a sum over {self._summed} samples and is never divided."

    def _turned(
        self, loss: torch.Tensor, found: tuple[int, tuple[Criterion, torch.Tensor]] | None, kinds: list[str]
    ) -> bool:
        """Whether minimising this loss makes a criterion, or the negative log-likelihood, large."""
        if found is not None:
            place, (call, value) = found
            if call.name not in MINIMISED or value.numel() != 1 or not set(kinds[:place]) <= SCALING or not place:
                return False
            if not {"Neg", "Mul", "Div"} & set(kinds[:place]):
                return False
            now, was = torch.stack([loss.detach().double().reshape(()), value.double().reshape(())]).tolist()
            self._sign = f"backward is called on minus {call.name} ({now:.4g} where {call.name} gave {was:.4g}): training makes it worse."
            return bool(now * was < 0)
        if kinds and kinds[-1] == "LogSoftmax" and {"Gather", "Index"} & set(kinds) and "Mul" not in kinds:
            picked = any(kind.startswith("NllLoss") for kind in kinds)
            self._sign = "The loss is the mean log-probability of the right classes without a minus sign: training makes them less likely."
            return not picked and kinds.count("Neg") % 2 == 0 and float(loss.detach()) < 0
        return False

    def _by_hand(self, loss: torch.Tensor) -> Iterator[Finding]:
        """A loss that no function of torch made."""
        for node in above(loss, ELEMENTWISE | PICKING):
            kind, shape = kind_of(node), shape_of(node)
            if kind in ("Sub", "Rsub") and len(shape) == 2 and shape[0] == shape[1] > 1:
                parts = inputs(node)
                given = shape_of(*parts[0]) if len(parts) == 1 else ()
                made_so = len(parts) == 1 and kind_of(parts[0][0]) in ("Unsqueeze", "Expand", "Index")
                if given in ((shape[0], 1), (shape[0],)) and not made_so:
                    yield Finding(
                        "shapes-broadcast",
                        True,
                        f"The loss subtracts a target from an output of shape {written(given)} and gets {written(shape)}: they broadcast, every output against every target.",
                    )
            dim = dim_of(node, len(shape))
            if kind in SOFTMAXES and dim is not None:
                if shape[dim] == 1:
                    yield Finding(
                        "softmax-over-one-output",
                        True,
                        f"The loss uses a softmax over a dimension of size 1 of {written(shape)}: always 1, whatever the input.",
                    )
                elif dim == 0 and len(shape) == 2 and shape[0] == self.batch != shape[1]:
                    yield Finding(
                        "softmax-over-wrong-dim",
                        True,
                        f"The loss uses a softmax over dimension 0 of {written(shape)}, the batch.",
                    )


def _added(loss: torch.Tensor, made: Made) -> Criterion | None:
    """A summed criterion that is a term of the loss as it is, beside others."""
    for node in above(loss, TERMS):
        call = made.get(node._sequence_nr(), (None, None))[0]
        if call is not None and call.options.get("reduction") == "sum":
            return call
    return None
