"""One function a cause: how it gets into a training. `level` runs from 0, barely visible, to 2, fatal.

A function changes the Setup in place, raises Unfit where its fault means nothing, and gives the causes that would be
named with equal right."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from setup import Setup, Unfit
from torch import nn
from torch.nn import functional as F

Fault = Callable[[Setup, int, torch.Generator], tuple[str, ...] | None]
FAULTS: dict[str, Fault] = {}
# faults of degree: where the damage is nil, there is no fault
DEGREE = {
    "lr-too-high", "lr-too-low", "lr-decay-missing", "lr-decayed-too-early", "warmup-missing", "grad-clip-too-tight",
    "grad-clip-missing",
    "batch-too-small", "batch-too-large", "accumulation-not-scaled", "optimizer-recreated", "loss-sum-reduction",
    "momentum-too-high",
    "weight-decay-too-high", "dropout-too-high", "too-few-epochs", "vanishing-gradients", "exploding-gradients",
    "dead-relu",
    "saturation", "init-too-large", "init-too-small", "inputs-not-normalized", "targets-not-normalized",
    "model-too-small",
    "overfitting", "corrupt-samples", "class-imbalance", "not-shuffled", "low-precision-update-lost",
    "mse-for-classification",
    "missing-nonlinearity", "wrong-loss", "bounded-output", "padding-not-masked", "log-of-zero", "relu-on-output",
    "fp16-overflow",
}  # fmt: skip


def fault(name: str) -> Callable[[Fault], Fault]:
    def register(function: Fault) -> Fault:
        FAULTS[name] = function
        return function

    return register


def need(condition: bool) -> None:
    if not condition:
        raise Unfit


def _adam(setup: Setup) -> bool:
    return setup.optimizer in ("adam", "adamw")


def _dense(setup: Setup) -> bool:
    """Inputs are numbers, not codes."""
    return setup.train[0].is_floating_point()


def _chain(setup: Setup, function: Callable[[nn.Module], None]) -> None:
    before = setup.prepare

    def both(model: nn.Module) -> None:
        if before:
            before(model)
        function(model)

    setup.prepare = both


def _weighted(model: nn.Module) -> list[nn.Module]:
    return [m for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv2d, nn.RNN, nn.LSTM))]


def _matrices(model: nn.Module) -> list[nn.Parameter]:
    return [p for m in _weighted(model) for p in m.parameters() if p.dim() > 1]


# --- learning rate


@fault("lr-too-high")
def lr_too_high(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    """From just beyond what the task bears to what kills a network at once: by chance, since people miss by all
    factors."""
    mild, wild = ((8, 40), (20, 120), (60, 500))[level] if _adam(s) else ((3, 12), (6, 40), (20, 200))[level]
    s.lr *= mild * (wild / mild) ** float(torch.rand(1, generator=g))
    return ()


@fault("lr-too-low")
def lr_too_low(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    s.lr *= (1 / 30, 1 / 200, 1e-5)[level]
    return ("too-few-epochs",) if level == 0 else ()


@fault("lr-decay-missing")
def lr_decay_missing(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.task in ("friedman", "digits-copy", "diabetes", "digits-labels"))
    s.lr *= ((3, 5, 8) if _adam(s) else (1.5, 2, 3))[level]
    s.batch, s.epochs = 16, s.epochs * 2
    return ("lr-too-high",)


@fault("lr-decayed-too-early")
def lr_decayed_too_early(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    gamma = (0.97, 0.9, 0.5)[level]
    if level == 1:
        s.schedule = lambda o, n, e: (torch.optim.lr_scheduler.StepLR(o, 5, 0.3), "batch")
    else:
        s.schedule = lambda o, n, e: (torch.optim.lr_scheduler.ExponentialLR(o, gamma), "batch")
    return ()


@fault("warmup-missing")
def warmup_missing(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.task in ("text-lm", "text-classes") and _adam(s))
    peak = (8, 15, 30)[level]
    s.lr *= peak
    s.schedule = lambda o, n, e: (torch.optim.lr_scheduler.CosineAnnealingLR(o, n * e), "batch")
    return ("lr-too-high",)


# --- optimisation


@fault("grad-clip-too-tight")
def grad_clip_too_tight(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(not _adam(s))
    s.clip = (0.03, 3e-3, 1e-4)[level]
    return ()


@fault("batch-too-small")
def batch_too_small(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(not s.shape.norm)
    s.batch = (2, 1, 1)[level]
    s.lr *= (1.5, 1, 2)[level] * (2 if _adam(s) else 1)
    s.keep(torch.arange(min(s.count, 400)))
    s.epochs = min(s.epochs, 5)
    return ("lr-too-high",)


@fault("batch-too-large")
def batch_too_large(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    s.batch = max(s.count // (3, 2, 1)[level], 1)
    return ("too-few-epochs", "lr-too-low")


@fault("missing-zero-grad")
def missing_zero_grad(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    s.clear = False
    return ()


@fault("accumulation-not-scaled")
def accumulation_not_scaled(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(not _adam(s))  # whose steps do not depend on the scale of the gradient
    s.accumulate, s.scaled = (4, 8, 16)[level], False
    s.epochs *= 2
    return ("lr-too-high",)


@fault("optimizer-recreated")
def optimizer_recreated(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.optimizer != "sgd")
    s.rebuild = ("epoch", "step", "step")[level]
    return ()


@fault("loss-sum-reduction")
def loss_sum_reduction(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind in ("classes", "binary", "labels", "regression", "copy"))
    s.loss = {
        "classes": nn.CrossEntropyLoss(reduction="sum"), "binary": nn.BCEWithLogitsLoss(reduction="sum"),
        "labels": nn.BCEWithLogitsLoss(reduction="sum"),
    }.get(s.kind, nn.MSELoss(reduction="sum"))  # fmt: skip
    return ("lr-too-high",)


@fault("momentum-too-high")
def momentum_too_high(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.optimizer == "momentum")
    s.momentum = (0.99, 0.997, 0.9999)[level]
    return ()


@fault("weight-decay-too-high")
def weight_decay_too_high(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    s.weight_decay = {"adamw": (5.0, 30.0, 200.0), "adam": (0.1, 1.0, 10.0)}.get(s.optimizer, (0.05, 0.2, 1.0))[level]
    return ()


@fault("dropout-too-high")
def dropout_too_high(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.task not in ("text-lm", "tastes"))
    s.shape.dropout = (0.8, 0.92, 0.98)[level]
    return ()


@fault("too-few-epochs")
def too_few_epochs(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    s.epochs = (3, 2, 2)[level]
    s.lr /= 4
    return ("lr-too-low", "batch-too-large")


# --- gradient flow and initialisation


@fault("vanishing-gradients")
def vanishing_gradients(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.task in ("digits-mlp", "rings", "friedman", "digits-labels", "cancer", "wine", "digits-copy", "diabetes"))
    s.shape.activation, s.shape.depth, s.shape.norm = "sigmoid", (5, 8, 14)[level], False
    s.shape.dropout = 0.0
    return ("saturation",) if level == 0 else ()


@fault("exploding-gradients")
def exploding_gradients(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    if s.task == "digits-rnn":

        def grow(model: nn.Module) -> None:
            for name, weight in model.named_parameters():
                if "weight_hh" in name:
                    nn.init.orthogonal_(weight, gain=(1.5, 2.5, 5.0)[level])

        _chain(s, grow)
        s.train, s.val = (s.train[0].repeat(1, 5, 1), s.train[1]), (s.val[0].repeat(1, 5, 1), s.val[1])
        return ("init-too-large", "grad-clip-missing", "saturation")
    need(s.task in ("digits-mlp", "rings", "friedman", "digits-labels", "digits-copy"))
    s.shape.activation, s.shape.depth, s.shape.norm = "relu", (8, 12, 16)[level], False

    def scale(model: nn.Module) -> None:
        for module in _weighted(model):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            with torch.no_grad():
                module.weight.mul_((1.6, 2, 2.5)[level])

    _chain(s, scale)
    return ("init-too-large", "lr-too-high")


@fault("dead-relu")
def dead_relu(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(
        s.shape.activation == "relu"
        and not s.shape.norm
        and s.kind not in ("ranking",)
        and "rnn" not in s.task
        and "lstm" not in s.task
    )

    def sink(model: nn.Module) -> None:
        for module in _weighted(model)[:-1]:
            nn.init.constant_(module.bias, (-1.0, -4.0, -30.0)[level])

    _chain(s, sink)
    return ("constant-init",) if level == 2 else ()


@fault("saturation")
def saturation(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.task in ("digits-mlp", "rings", "friedman", "digits-labels", "cancer", "digits-copy", "diabetes"))
    s.shape.activation, s.shape.norm = ("tanh", "sigmoid", "tanh")[level], False
    s.shape.depth = max(s.shape.depth, 2)

    def swell(model: nn.Module) -> None:
        for module in _weighted(model)[:-1]:
            with torch.no_grad():
                module.weight.mul_((8, 30, 100)[level])

    _chain(s, swell)
    return ("init-too-large",)


@fault("constant-init")
def constant_init(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind != "ranking")
    value = (0.05, 0.01, 0.0)[level]

    def flatten(model: nn.Module) -> None:
        for weight in _matrices(model):
            nn.init.constant_(weight, value)

    _chain(s, flatten)
    return ("init-too-small",) if level == 2 else ()


def _rescaled(s: Setup, factor: float) -> None:
    def scale(model: nn.Module) -> None:
        with torch.no_grad():
            for weight in _matrices(model):
                weight.mul_(factor)

    _chain(s, scale)


@fault("init-too-large")
def init_too_large(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind != "ranking")
    _rescaled(s, (6, 20, 100)[level])
    return (
        ("saturation",)
        if s.shape.activation in ("tanh", "sigmoid") or "nn" in s.task[-3:]
        else ("exploding-gradients",)
    )


@fault("init-too-small")
def init_too_small(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind != "ranking" and not s.shape.norm)
    _rescaled(s, (0.1, 0.01, 1e-4)[level])
    return ("vanishing-gradients", "constant-init") if level == 2 else ("vanishing-gradients",)


# --- wiring


@fault("params-not-in-optimizer")
def params_not_in_optimizer(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    s.choose = lambda model: list((model.body if level == 0 else model.head).parameters())  # type: ignore[union-attr]
    need(level > 0 or s.kind != "ranking")
    return ()


@fault("frozen-params")
def frozen_params(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    def freeze(model: Any) -> None:
        parameters = list(model.body.parameters())
        for parameter in parameters if level else parameters[: max(2, len(parameters) // 2)]:
            parameter.requires_grad_(False)

    _chain(s, freeze)
    return ()


@fault("detached-graph")
def detached_graph(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    s.shape.cut = True
    return ()


def _noisy_layers(s: Setup) -> bool:
    return s.shape.norm or s.shape.dropout > 0


@fault("eval-mode-during-training")
def eval_mode_during_training(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(_noisy_layers(s))
    s.train_mode = False
    return ()


@fault("train-mode-during-eval")
def train_mode_during_eval(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(_noisy_layers(s))
    s.eval_mode = False
    if s.shape.dropout:
        s.shape.dropout = (s.shape.dropout, 0.4, 0.6)[level]
    return ()


@fault("missing-nonlinearity")
def missing_nonlinearity(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(
        s.task
        in ("rings", "friedman", "digits-mlp", "digits-copy", "digits-labels", "digits-cnn", "cancer", "diabetes")
    )
    s.shape.activation = "none"
    s.shape.depth = max(s.shape.depth, 2)
    return ()


@fault("causal-mask-missing")
def causal_mask_missing(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind == "text")
    s.shape.causal = False
    s.epochs += 4 * level
    return ()


@fault("target-not-shifted")
def target_not_shifted(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind == "text")
    s.train, s.val = (s.train[0], s.train[0].clone()), (s.val[0], s.val[0].clone())
    return ()


@fault("padding-not-masked")
def padding_not_masked(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind == "text")
    pad_texts(s, (0.4, 0.6, 0.85)[level], g)
    return ()


def pad_texts(s: Setup, share: float, g: torch.Generator) -> None:
    """Texts of different lengths: about this share of all letters becomes padding (code 0)."""
    for side in ("train", "val"):
        inputs, targets = getattr(s, side)
        lengths = (
            ((torch.rand(len(inputs), generator=g) * 0.4 + 0.8 - share) * inputs.shape[1])
            .clamp(3, inputs.shape[1])
            .long()
        )
        beyond = torch.arange(inputs.shape[1])[None] >= lengths[:, None]
        setattr(s, side, (inputs.masked_fill(beyond, 0), targets.masked_fill(beyond, 0)))


# --- loss and output


@fault("softmax-before-cross-entropy")
def softmax_before_cross_entropy(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind in ("classes", "text"))
    s.shape.finish = [nn.Softmax(dim=-1)]
    return ()


@fault("nll-without-log-softmax")
def nll_without_log_softmax(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind == "classes")
    s.loss = nn.NLLLoss() if level else F.nll_loss
    if level == 2:
        s.shape.finish = [nn.Softmax(dim=-1)]
    return ()


@fault("softmax-wrong-dim")
def softmax_wrong_dim(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind == "classes")
    s.shape.finish, s.loss = [nn.LogSoftmax(dim=0)], nn.NLLLoss()
    return ()


@fault("double-sigmoid")
def double_sigmoid(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind in ("binary", "labels"))
    s.shape.finish = [nn.Sigmoid()]
    return ()


@fault("softmax-on-single-output")
def softmax_on_single_output(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind == "binary")
    s.shape.finish, s.loss = [nn.Softmax(dim=-1)], nn.BCELoss()
    return ()


@fault("mse-for-classification")
def mse_for_classification(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need((s.kind in ("classes", "binary") and s.classes != 2) or s.kind == "binary")
    if s.kind == "binary":
        s.shape.finish, s.loss = [nn.Sigmoid()], nn.MSELoss()
        return ("wrong-loss",)
    s.shape.outputs = 1

    def regress(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(output.squeeze(1), target.float())

    s.loss = regress
    return ("wrong-loss",)


@fault("wrong-loss")
def wrong_loss(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    if s.kind == "labels":
        s.loss = nn.CrossEntropyLoss()
    elif s.kind in ("regression", "copy"):
        s.loss = nn.BCEWithLogitsLoss()
    else:
        raise Unfit
    return ("label-encoding-wrong",) if s.kind != "labels" else ()


@fault("relu-on-output")
def relu_on_output(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind in ("regression", "copy", "classes"))
    s.shape.finish = [nn.ReLU()]
    return ()


@fault("bounded-output")
def bounded_output(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind in ("regression", "copy"))
    s.shape.finish = [(nn.Tanh, nn.Sigmoid, nn.Sigmoid)[level]()]
    scale = (1.5, 1.0, 5.0)[level]
    s.train, s.val = (s.train[0], s.train[1] * scale), (s.val[0], s.val[1] * scale)
    return ("targets-not-normalized",) if level == 2 else ()


@fault("loss-shape-broadcast")
def loss_shape_broadcast(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind == "regression")
    s.train, s.val = (s.train[0], s.train[1][:, 0]), (s.val[0], s.val[1][:, 0])
    return ()


@fault("loss-sign-flipped")
def loss_sign_flipped(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    inner = s.loss
    s.loss = lambda output, target: -inner(output, target)
    return ()


# --- data


@fault("inputs-not-normalized")
def inputs_not_normalized(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(_dense(s) and s.kind != "copy")
    if s.train[0].dim() == 2 and s.task != "digits-mlp" and s.task != "digits-labels":
        scales = 10 ** (torch.rand(s.train[0].shape[1], generator=g) * (2, 4, 6)[level])
        shift = scales * 2
    else:
        scales, shift = torch.tensor((16.0, 255.0, 3000.0)[level]), torch.tensor((5.0, 80.0, 1000.0)[level])
    s.train, s.val = (s.train[0] * scales + shift, s.train[1]), (s.val[0] * scales + shift, s.val[1])
    return ()


@fault("targets-not-normalized")
def targets_not_normalized(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind == "regression")
    scale, shift = (30.0, 300.0, 1e4)[level], (100.0, 1500.0, 3e4)[level]
    s.train, s.val = (s.train[0], s.train[1] * scale + shift), (s.val[0], s.val[1] * scale + shift)
    return ("lr-too-high",) if not _adam(s) else ()


def _some(s: Setup, share: float, g: torch.Generator) -> torch.Tensor:
    return torch.randperm(s.count, generator=g)[: max(1, int(s.count * share))]


@fault("nan-in-data")
def nan_in_data(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(_dense(s))
    inputs = s.train[0].clone()
    rows = _some(s, (0.002, 0.01, 0.05)[level], g)
    inputs.view(len(inputs), -1)[rows, 0] = math.nan
    s.train = (inputs, s.train[1])
    return ()


@fault("corrupt-samples")
def corrupt_samples(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(_dense(s) and s.kind != "copy")
    inputs = s.train[0].clone()
    inputs[_some(s, 0.004, g)] *= (100, 1000, 1e5)[level]
    s.train = (inputs, s.train[1])
    return ()


@fault("labels-misaligned")
def labels_misaligned(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind in ("classes", "binary", "labels", "regression"))
    targets = s.train[1].roll(1, 0) if level == 0 else s.train[1][torch.randperm(s.count, generator=g)]
    s.train = (s.train[0], targets)
    if level == 2:
        s.val = (s.val[0], s.val[1].roll(1, 0))
    return ()


@fault("label-encoding-wrong")
def label_encoding_wrong(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    if s.kind == "binary":  # -1 and 1, or 1 and 2, where 0 and 1 are meant
        change = (lambda t: t * 2 - 1) if level else (lambda t: t + 1)
    elif s.kind == "classes":  # all the same code
        change = torch.zeros_like
    else:
        raise Unfit
    s.train, s.val = (s.train[0], change(s.train[1])), (s.val[0], change(s.val[1]))
    return ("wrong-loss",) if s.kind == "binary" else ()


@fault("class-imbalance")
def class_imbalance(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind in ("classes", "binary") and s.count > 300)
    one = (s.train[1].flatten() == 1).nonzero().flatten()
    rest = (s.train[1].flatten() != 1).nonzero().flatten()
    rare = rest[torch.randperm(len(rest), generator=g)[: max(4, int(len(one) * (0.1, 0.04, 0.02)[level]))]]
    s.keep(torch.cat([one, rare])[torch.randperm(len(one) + len(rare), generator=g)])
    s.epochs *= 3
    if level != 1:
        keep = (s.val[1].flatten() == 1) | (torch.rand(len(s.val[1]), generator=g) < 0.15)
        s.val = (s.val[0][keep], s.val[1][keep])
    return ()


@fault("not-shuffled")
def not_shuffled(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind in ("classes", "binary"))
    s.keep(s.train[1].flatten().argsort(stable=True))
    s.shuffle = False
    return ()


@fault("train-val-leak")
def train_val_leak(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind not in ("text", "ranking"))
    share = (0.3, 0.6, 1.0)[level]
    take = torch.randperm(s.count, generator=g)[: int(len(s.val[0]) * share)]
    keep = len(s.val[0]) - len(take)
    s.val = (torch.cat([s.val[0][:keep], s.train[0][take]]), torch.cat([s.val[1][:keep], s.train[1][take]]))
    return ()


@fault("val-preprocessing-mismatch")
def val_preprocessing_mismatch(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(_dense(s) and s.kind != "copy")
    scale, shift = (2.5, 16.0, 255.0)[level], (1.0, 5.0, 80.0)[level]
    s.feed_val = lambda x: x * scale + shift
    return ()


@fault("train-val-label-mismatch")
def train_val_label_mismatch(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind in ("classes", "binary"))
    if s.kind == "binary":
        s.val = (s.val[0], 1 - s.val[1])
    else:
        s.val = (s.val[0], (s.val[1] + 1 + level) % s.classes if level < s.classes - 1 else s.classes - 1 - s.val[1])
    return ()


# --- capacity and numerics


@fault("model-too-small")
def model_too_small(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind != "ranking" and s.task not in ("text-lm", "text-classes", "cancer", "wine", "diabetes"))
    s.shape.width, s.shape.depth, s.shape.dropout = (
        (3, 2, 1)[level],
        1 if "cnn" not in s.task and "bn" not in s.task else 2,
        0.0,
    )
    s.epochs = int(s.epochs * 1.5)
    return ()


@fault("overfitting")
def overfitting(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind in ("classes", "regression", "labels", "binary"))
    s.keep(torch.arange(min(s.count, (120, 70, 40)[level])))
    if s.kind == "classes":  # some labels that only memory can learn
        targets = s.train[1].clone()
        wrong = _some(s, 0.3, g)
        targets[wrong] = torch.randint(0, s.classes, (len(wrong),), generator=g)
        s.train = (s.train[0], targets)
    s.shape.width *= 3
    s.shape.dropout, s.weight_decay = 0.0, 0.0
    s.batch, s.epochs = 16, 60
    return ()


class Steep(nn.Module):
    """Logits as large as a net without normalisation makes them."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 60


@fault("log-of-zero")
def log_of_zero(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.kind in ("classes", "binary"))
    s.shape.finish = [Steep()]
    if s.kind == "classes":

        def entropy(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            likely = torch.softmax(output, dim=-1)
            return -torch.log(likely.gather(1, target[:, None])).mean()
    else:

        def entropy(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            likely = torch.sigmoid(output)
            return -(target * torch.log(likely) + (1 - target) * torch.log(1 - likely)).mean()

    s.loss = entropy
    return ()


@fault("division-by-zero")
def division_by_zero(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(_dense(s) and s.kind != "copy")
    inputs = s.train[0].clone()
    inputs[_some(s, (0.002, 0.01, 0.03)[level], g)] = 0.25  # blank samples

    def scale_each(x: torch.Tensor) -> torch.Tensor:
        flat = x.flatten(1)
        flat = (flat - flat.mean(1, keepdim=True)) / flat.std(1, keepdim=True)
        return flat.view_as(x)

    s.train, s.feed = (inputs, s.train[1]), scale_each
    need(s.task not in ("rings",))
    return ("nan-in-data",)


@fault("fp16-overflow")
def fp16_overflow(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.task in ("friedman", "diabetes", "digits-mlp", "digits-copy", "cancer"))
    s.precision = torch.float16
    s.train, s.val = (
        (s.train[0] * (300, 1500, 6000)[level], s.train[1]),
        (s.val[0] * (300, 1500, 6000)[level], s.val[1]),
    )
    if s.kind in ("regression", "copy"):
        s.train, s.val = (s.train[0], s.train[1] * 200), (s.val[0], s.val[1] * 200)
    return ("inputs-not-normalized", "targets-not-normalized")


@fault("low-precision-update-lost")
def low_precision_update_lost(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.task in ("friedman", "diabetes", "digits-mlp", "digits-copy", "cancer", "digits-labels"))
    s.precision = torch.bfloat16
    s.lr *= (1 / 20, 1 / 60, 1 / 300)[level]
    return ("lr-too-low",)


@fault("slow-data-loading")
def slow_data_loading(s: Setup, level: int, g: torch.Generator) -> tuple[str, ...]:
    need(s.task in ("digits-mlp", "digits-cnn", "cancer", "rings"))
    s.delay, s.loader = (0.001, 0.002, 0.004)[level], True
    s.keep(torch.arange(320))
    s.epochs = 6
    return ("too-few-workers",)
