"""Who learns: parameters that receive a gradient but belong to no optimiser, that are frozen in a model made from scratch,
or that are given to an optimiser and never receive a gradient."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from typing import Any

import torch

from traindx.live.budget import FIRST_DEEP
from traindx.live.graph import graph_of
from traindx.live.hub import Hub
from traindx.live.later import Later
from traindx.live.naming import layer_of, listed, model_parameters, optimized
from traindx.live.norms import norms_of
from traindx.live.observer import Observer, on_deep_steps
from traindx.live.observers.optimizers import built
from traindx.live.ranks import is_sharded
from traindx.live.rows import watchable

LOOKS = 3  # deep steps before anything is said
SURE_LOOKS = 5  # a head that is trained in turns may be missed in three
LAYERS = (torch.nn.Linear, torch.nn.modules.conv._ConvNd, torch.nn.RNNBase, torch.nn.MultiheadAttention)
FROZEN = 0.5  # of the weights in layers
FROZEN_PLAIN = 0.9
FROZEN_FRESH = 0.15  # of them, where they hold what torch dealt out
NOISE_ROWS, NOISE_WIDTH = 4096, 64  # of a table that are asked whether they are plain noise
NOISE_SIGMAS = 4.0  # by which its moments may differ from those of noise
UNIFORM = 0.15  # by which the spread of weights may differ from that of an even distribution: small layers scatter
SILENT = 0.2  # of the trainable weights: less is a head or a pooler that nobody uses
SAMPLE = 64  # numbers of a parameter that are compared to see it move
_PRETRAINED = ("transformers", "timm", "peft", "open_clip", "sentence_transformers")
_ADAPTER = re.compile(r"lora|adapter|prefix|prompt", re.IGNORECASE)


class Parameters(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._said: dict[str, tuple[bool, float]] = {}
        self._looks: dict[int, int] = {}  # deep updates by optimiser
        self._held: set[int] = set()  # parameters of every optimiser that was ever seen (it may be gone at the end)
        self._reached: dict[int, torch.nn.Parameter] = {}  # parameters some loss has reached
        self._first: dict[int, torch.Tensor] = {}  # a few numbers of those no optimiser holds, when first seen
        self._silent: dict[int, int] = {}  # deep updates without a gradient, by parameter
        self._heard: set[int] = set()
        self._stops: set[str] = set()  # operations on the way to a loss that may let no gradient through
        self._zero: set[int] = set()  # parameters whose gradient was there, and zero
        self._later = Later()
        self._called: set[int] = set()  # parameters of layers that ran with gradients on,
        self._muted: set[int] = set()  # or with gradients off, in training mode
        self._loaded = False
        self._named: dict[int, tuple[str, torch.nn.Parameter]] = {}  # by id, for when the models themselves are gone

    def attach(self) -> None:
        self.hub.patch(torch.nn.Module, "load_state_dict", self._around_load)
        self.hub.patch(torch, "load", self._around_load)

    def _around_load(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def load(*args: Any, **kwargs: Any) -> Any:
            self._loaded = self._loaded or not self.hub.inside
            return original(*args, **kwargs)

        return load

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        if self.hub.step < 50 and (self.hub.grad or module.training):
            ran = self._called if self.hub.grad else self._muted
            ran.update(id(p) for p in module._parameters.values() if p is not None)

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        if self.hub.deep and self.hub.step < 10 * FIRST_DEEP:
            graph = graph_of(loss)
            self._stops |= graph.stops
            for leaf in graph.leaves:
                if isinstance(leaf, torch.nn.Parameter):
                    self._reached[id(leaf)] = leaf

    @on_deep_steps
    def on_step(self, optimizer: torch.optim.Optimizer) -> None:
        if not self.hub.deep:
            return
        self._looks[id(optimizer)] = self._looks.get(id(optimizer), 0) + 1
        if self._stops:
            self._look_for_zeros([p for group in optimizer.param_groups for p in group["params"] if p.grad is not None])
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    if not self._stops:
                        self._heard_from(parameter)
                elif parameter.requires_grad and id(parameter) not in self._heard:
                    self._silent[id(parameter)] = self._silent.get(id(parameter), 0) + 1

    def _heard_from(self, parameter: torch.Tensor) -> None:
        self._heard.add(id(parameter))
        self._silent.pop(id(parameter), None)

    def _look_for_zeros(self, held: list[torch.Tensor]) -> None:
        """Behind an operation that lets none through, a gradient is there and exactly zero."""
        norms = norms_of([p.grad for p in held if p.grad is not None])

        def take(values: list[float]) -> None:
            for parameter, value in zip(held, values, strict=True):
                if value:
                    self._heard_from(parameter)
                elif id(parameter) not in self._heard:
                    self._zero.add(id(parameter))
                    self._silent[id(parameter)] = self._silent.get(id(parameter), 0) + 1

        if norms is not None:
            self._later.ask(norms, take)
        else:  # they lie on several devices, or are of a kind of their own
            take([1.0] * len(held))

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._later.poll()
        self._held |= optimized([optimizer]).keys() | self.hub.by_hand.originals
        if (
            self.hub.deep
            and self._looks.get(id(optimizer), 0) >= LOOKS
            and self._looks[id(optimizer)] <= 4 * SURE_LOOKS
        ):
            self._judge()

    def on_farewell(self) -> None:
        self.on_end()
        held = (
            self._looks,
            self._held,
            self._reached,
            self._first,
            self._silent,
            self._heard,
            self._called,
            self._muted,
            self._zero,
        )
        for ids in held:
            ids.clear()
        self._named = {}

    def on_end(self) -> None:
        self._later.poll(wait=True)
        if self.hub.step >= LOOKS and self._looks:
            self._judge(last=True)

    def _judge(self, last: bool = False) -> None:
        self._named = named = model_parameters(self.hub) or self._named
        left_out = not is_sharded(self.hub.models.values()) and self._not_optimized(named)
        self._frozen(named)
        if not left_out:
            self._without_gradient(named, SURE_LOOKS if not last else LOOKS)

    def _not_optimized(self, named: dict[int, tuple[str, torch.nn.Parameter]]) -> bool:
        """Parameters some loss reaches and no optimiser holds, and that nothing else moves either."""
        self._held |= optimized(built).keys()
        held = self._held
        missing: dict[str, torch.nn.Parameter] = {}
        for identity, parameter in self._reached.items():
            if identity in held or not parameter.requires_grad or not parameter.is_leaf:
                continue
            few = parameter.detach().flatten()[:SAMPLE]
            before = self._first.setdefault(identity, few.clone())
            if torch.equal(before, few):
                missing[
                    named[identity][0] if identity in named else f"a parameter of shape {tuple(parameter.shape)}"
                ] = parameter
        total = sum(p.numel() for p in self._reached.values())
        if not missing:
            if self._reached:
                self._tell(
                    "parameters-not-optimized",
                    False,
                    f"All {len(self._reached)} parameters with a gradient belong to an optimiser.",
                )
            return False
        share = sum(p.numel() for p in missing.values()) / max(total, 1)
        unregistered = not any(id(p) in named for p in missing.values())
        # an optimiser over the head alone saves the trouble of freezing the rest: wasteful, but often meant
        head_only = not unregistered and self._only_the_last(named, held) and self._pretrained()
        self._tell(
            "parameters-not-optimized", True,
            f"{len(missing)} of {len(self._reached)} parameters ({share * 100:.3g} % of the weights) receive a gradient, but no "
            f"optimiser holds them: {listed(missing)}"
            + ("; they are not registered in the model (a plain list of layers?)." if unregistered else "."),
            self._made_at() or next(iter(missing)), 0.4 if head_only else 1.0 if share > 0.01 else 0.6,
        )  # fmt: skip
        return True

    def _made_at(self) -> str:
        """file:line where the optimisers that took a step were made, if all were made at one."""
        places = {place for optimizer, place in built.items() if id(optimizer) in self._looks}
        return places.pop() if len(places) == 1 else ""

    def _only_the_last(self, named: dict[int, tuple[str, torch.nn.Parameter]], held: set[int]) -> bool:
        mine = [layer_of(name) for identity, (name, _) in named.items() if identity in held]
        return len(set(mine)) <= 1 and bool(mine) and layer_of(list(named.values())[-1][0]) == mine[-1]

    def _frozen(self, named: dict[int, tuple[str, torch.nn.Parameter]]) -> None:
        """Most of the weights of layers are frozen although no weights were loaded: they stay random."""
        frozen, total, names, layers, fresh = 0, 0, [], 0, True
        for model in self.hub.models.values():
            inside = list(model.parameters())
            if all(not p.requires_grad for p in inside) or not any(id(p) in self._reached for p in inside):
                continue  # a teacher or a copy that is never trained
            for layer in model.modules():
                table = isinstance(layer, torch.nn.Embedding) and _dealt_out(layer)
                if not isinstance(layer, LAYERS) and not table:
                    continue
                for parameter in layer.parameters(recurse=False):
                    if parameter.dim() < 2 or id(parameter) not in self._called:
                        continue
                    total += parameter.numel()
                    layers += 1
                    if not parameter.requires_grad:
                        frozen += parameter.numel()
                        fresh = fresh and (table or _untrained(parameter))
                        names.append(named[id(parameter)][0] if id(parameter) in named else "")
        if not total:
            return
        share = frozen / total
        if fresh:  # early layers have few weights and matter all the same
            share = max(share, len(names) / layers)
        trainable = [name for name, p in named.values() if p.requires_grad]
        some = fresh and frozen >= FROZEN_FRESH * total
        if (share < FROZEN and not some) or self._pretrained() or any(_ADAPTER.search(name) for name in trainable):
            why = " (weights were loaded: fine-tuning)" if share >= FROZEN or some else ""
            self._tell("frozen-weights", False, f"{share * 100:.0f} % of the weights in layers are frozen{why}.")
            return
        self._tell(
            "frozen-weights", True,
            f"{frozen / total * 100:.0f} % of the weights in layers have requires_grad=False ({listed(names)}), and no weights were "
            f"loaded: they stay at their random start. Trainable: {listed(trainable)}.",
            names[0], 1.0 if share >= FROZEN_PLAIN else 0.65 if share < FROZEN else 0.9 if fresh else 0.7,
        )  # fmt: skip

    def _without_gradient(self, named: dict[int, tuple[str, torch.nn.Parameter]], looks: int) -> None:
        """Trainable parameters of layers that ran, held by an optimiser, that no gradient has ever reached."""
        if not (self._heard or self._silent) or max(self._looks.values(), default=0) < looks:
            return
        known = {i: named[i] for i in (*self._heard, *self._silent) if i in named}
        ran = (
            self._called if self._pretrained() else self._called | self._muted
        )  # loaded weights may be left as they are
        silent = {
            name: p for i, (name, p) in known.items()
            if self._silent.get(i, 0) >= looks and i in ran and (i not in self._reached or i in self._zero)
        }  # fmt: skip
        share = sum(p.numel() for p in silent.values()) / max(sum(p.numel() for _, p in known.values()), 1)
        matrices = [name for name, p in named.values() if p.dim() > 1 and id(p) in known]
        if matrices and matrices[0] in silent:
            # cut off from the input side: early layers have few weights and matter all the same; a head may be unused
            share = max(share, sum(name in silent for name in matrices) / len(matrices))
        if share < SILENT:
            rest = f" (except {listed(silent)})" if silent else ""
            self._tell("no-gradient", False, f"The parameters of the layers that run receive a gradient{rest}.")
            return
        self._tell(
            "no-gradient", True,
            f"{len(silent)} of {len(known)} parameters ({share * 100:.0f} % of the trainable weights) run in the forward pass and "
            f"never receive a gradient: {listed(silent)}{self._why(silent.values())}.", next(iter(silent)), 1.0 if share >= 0.5 else 0.8,
        )  # fmt: skip

    def _why(self, silent: Collection[torch.Tensor]) -> str:
        if all(id(p) in self._muted - self._called for p in silent):
            return "; their layers run with gradients turned off, and no weights were loaded into them"
        if not any(id(p) in self._zero for p in silent):
            return ""
        return f"; it is exactly zero behind {' and '.join(sorted(self._stops))}, which lets none through"

    def _pretrained(self) -> bool:
        """Weights were loaded, or the model is of a library that loads them in its own way."""
        layers = (layer for model in self.hub.models.values() for layer in model.modules())
        return self._loaded or any(type(layer).__module__.partition(".")[0] in _PRETRAINED for layer in layers)

    def _tell(
        self, identifier: str, present: bool, evidence: str, where: str | None = None, clarity: float = 1.0
    ) -> None:
        """Say what is new: the last word counts, so a layer that is unfrozen later takes the finding back."""
        if self._said.get(identifier) != (present, clarity):
            before = self._said.get(identifier, (False, 0.0))[0]
            self._said[identifier] = (present, clarity)
            self.hub.fact(identifier, present, evidence, where=where, clarity=clarity)
            if present:
                self.hub.fact("unchanged-weights", True, evidence, where=where, clarity=clarity)
            elif before and not any(said for said, _ in self._said.values()):
                self.hub.fact("unchanged-weights", False, f"{evidence} They were held at first only.")


def _untrained(weight: torch.Tensor) -> bool:
    """Still spread evenly up to the limit of torch's default initialisation, 1 / sqrt(fan-in): training leaves no weight so."""
    few = weight.detach().float()
    limit = (weight.numel() / weight.shape[0]) ** -0.5
    most, spread = torch.stack([few.abs().max(), few.std()]).tolist()
    return bool(0.9 * limit < most <= 1.001 * limit and abs(spread * 3**0.5 / limit - 1) < UNIFORM)


def _dealt_out(table: torch.nn.Embedding) -> bool:
    """Frozen with the numbers a new embedding has."""
    return not table.weight.requires_grad and watchable(table.weight) and _noise(table.weight)


def _noise(table: torch.Tensor) -> bool:
    """Normal or evenly spread numbers without any order, as a new embedding has them: vectors that were learnt somewhere differ
    in length and lean to some directions. Nothing has to be loaded by torch for those, so they are told by what they are."""
    few = table.detach()[:NOISE_ROWS, :NOISE_WIDTH].float()
    few = few[few.abs().amax(1) > 0]  # the row of the padding
    rows, width = few.shape
    if rows < 8 or width < 2:
        return False
    z = (few - few.mean()) / few.std()
    fourth, lengths, leaning = torch.stack(
        [z.pow(4).mean(), z.square().mean(1).var(), z.mean(0).square().mean()]
    ).tolist()
    like = min((3.0, 1.8), key=lambda kurtosis: abs(kurtosis - fourth))  # of the normal and of the even distribution
    near = NOISE_SIGMAS * (math.sqrt(24 / few.numel()) if like == 3.0 else 2.4 / math.sqrt(few.numel()))
    scatter = NOISE_SIGMAS * math.sqrt(2 / rows)
    even = lengths * width / (like - 1)  # one, where all numbers are drawn alike
    upright = leaning * rows <= 1 + NOISE_SIGMAS * math.sqrt(2 / width)
    return bool(abs(fourth - like) < near and 1 - scatter < even < 1 + 1.5 * scatter and upright)


OBSERVER = Parameters
