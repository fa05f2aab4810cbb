"""Loss functions: what torch.nn.functional is asked for, and what is asked of a function that was taken from it
earlier.

A script may keep `F.cross_entropy` in a variable before the recording begins. Replacing the attribute does not reach
that one; the kernel it calls is still looked up at each call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from traindx.live.events.instrument import Criterion
from traindx.live.events.places import user_line
from traindx.live.measures.rows import watchable
from traindx.live.measures.splits import Splits

if TYPE_CHECKING:
    from traindx.live.events.hub import Hub

REGRESSION = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
CRITERIA = (
    "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "kl_div", "poisson_nll_loss", "gaussian_nll_loss", "multi_margin_loss",
    "multilabel_soft_margin_loss", "soft_margin_loss", "hinge_embedding_loss", "margin_ranking_loss", "ctc_loss",
    "cosine_embedding_loss",
)  # fmt: skip
WEIGHTED = (
    "cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "multilabel_soft_margin_loss",
)  # their third argument, which modules give by its place  # fmt: skip
# the kernel behind each of the usual ones: where it is looked up, its name, and its arguments after input and target
KERNELS: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "cross_entropy": (torch._C._nn, "cross_entropy_loss", ("weight", "reduction", "ignore_index", "label_smoothing")),
    "nll_loss": (torch._C._nn, "nll_loss_nd", ("weight", "reduction", "ignore_index")),
    "mse_loss": (torch._C._nn, "mse_loss", ("reduction",)),
    "l1_loss": (torch._C._nn, "l1_loss", ("reduction",)),
    "smooth_l1_loss": (torch._C._nn, "smooth_l1_loss", ("reduction", "beta")),
    "huber_loss": (torch._C._nn, "huber_loss", ("reduction", "delta")),
    "binary_cross_entropy": (torch._C._nn, "binary_cross_entropy", ("weight", "reduction")),
    "binary_cross_entropy_with_logits": (torch, "binary_cross_entropy_with_logits",
                                         ("weight", "pos_weight", "reduction")),
}  # fmt: skip
REDUCTIONS = ("none", "mean", "sum")  # by the number a kernel knows each by


class Criteria:
    """Tells the hub of every call of a loss function, once."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.splits = Splits(hub)
        self._running = False  # a function of torch.nn.functional: its kernel is no second loss

    def attach(self) -> None:
        self._hub.patch(torch.jit, "script", self._hub.patches.around_reading)
        for name in CRITERIA:
            self._hub.patch(torch.nn.functional, name, partial(self.around, name))

    def around(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        hub = self._hub

        def criterion(*args: Any, **kwargs: Any) -> Any:
            outer, self._running = self._running, True
            try:
                output = original(*args, **kwargs)
            finally:
                self._running = outer
            if not torch.compiler.is_compiling() and hub.hears_loss(output):
                input = args[0] if args else kwargs.get("input")
                target = args[1] if len(args) > 1 else kwargs.get("target")
                if len(args) > 2 and args[2] is not None and name in WEIGHTED:
                    kwargs = {"weight": args[2], **kwargs}
                self._tell(name, input, target, kwargs, output)
            return output

        return criterion

    def see_held(self) -> None:
        """Functions that were taken from torch.nn.functional before they could be replaced are seen by their
        kernels."""
        for name, (owner, kernel, options) in KERNELS.items():
            self._hub.patch(owner, kernel, partial(self._around_kernel, name, options))

    def _around_kernel(self, name: str, options: tuple[str, ...], original: Callable[..., Any]) -> Callable[..., Any]:
        hub = self._hub

        def kernel(*args: Any, **kwargs: Any) -> Any:
            output = original(*args, **kwargs)
            if self._running or torch.compiler.is_compiling() or not hub.hears_loss(output):
                return output
            if len(args) >= 2 and watchable(args[0]):
                given = {**dict(zip(options, args[2:], strict=False)), **kwargs}
                if isinstance(given.get("reduction"), int):
                    given["reduction"] = REDUCTIONS[given["reduction"]]
                self._tell(name, args[0], args[1], given, output)
            return output

        return kernel

    def _tell(self, name: str, input: Any, target: Any, options: dict[str, Any], output: torch.Tensor) -> None:
        if isinstance(input, torch.Tensor) and isinstance(target, torch.Tensor):
            if options.get("size_average") is False and options.get("reduce") is not False:  # older words for a sum
                options = {**options, "reduction": "sum"}
            self._hub.loss_made(Criterion(name, input, target, options, output, user_line))
