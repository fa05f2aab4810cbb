"""The zoo's networks. Every one is a body, a head and perhaps a last function, so that one fault fits them all."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import nn

ACTIVATIONS = {
    "relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "gelu": nn.GELU, "none": nn.Identity,
}  # fmt: skip


@dataclass
class Shape:
    """What a fault or a variant may change about a network."""

    width: int = 64
    depth: int = 2
    activation: str = "relu"
    norm: bool = False
    dropout: float = 0.0
    causal: bool = True
    finish: list[nn.Module] = field(default_factory=list)  # after the head
    cut: bool = False  # the graph ends between body and head
    outputs: int | None = None  # instead of the task's own number


class Net(nn.Module):
    def __init__(self, body: nn.Module, head: nn.Module, shape: Shape) -> None:
        super().__init__()
        self.body, self.head = body, head
        self.finish = nn.Sequential(*shape.finish) if shape.finish else None
        self.cut = shape.cut

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        hidden = self.body(*inputs)
        if self.cut:
            hidden = hidden.detach()
        out = self.head(hidden)
        return out if self.finish is None else self.finish(out)


def mlp(inputs: int, outputs: int, shape: Shape) -> Net:
    layers: list[nn.Module] = []
    size = inputs
    for _ in range(shape.depth):
        layers.append(nn.Linear(size, shape.width))
        if shape.norm:
            layers.append(nn.BatchNorm1d(shape.width))
        layers.append(ACTIVATIONS[shape.activation]())
        if shape.dropout:
            layers.append(nn.Dropout(shape.dropout))
        size = shape.width
    return Net(nn.Sequential(*layers), nn.Linear(size, shape.outputs or outputs), shape)


def cnn(side: int, outputs: int, shape: Shape) -> Net:
    layers: list[nn.Module] = []
    size = 1
    for index in range(shape.depth):
        width = shape.width * (index + 1)
        layers.append(nn.Conv2d(size, width, 3, padding=1))
        if shape.norm:
            layers.append(nn.BatchNorm2d(width))
        layers += [ACTIVATIONS[shape.activation](), nn.MaxPool2d(2)]
        size, side = width, side // 2
    layers.append(nn.Flatten())
    if shape.dropout:
        layers.append(nn.Dropout(shape.dropout))
    return Net(nn.Sequential(*layers), nn.Linear(size * side * side, shape.outputs or outputs), shape)


class Recurrence(nn.Module):
    """The last state of a recurrent layer."""

    def __init__(self, kind: str, inputs: int, shape: Shape) -> None:
        super().__init__()
        self.layer = getattr(nn, kind)(inputs, shape.width, shape.depth, batch_first=True)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.layer(x)[0][:, -1])


def rnn(kind: str, inputs: int, outputs: int, shape: Shape) -> Net:
    return Net(Recurrence(kind, inputs, shape), nn.Linear(shape.width, shape.outputs or outputs), shape)


class Attention(nn.Module):
    def __init__(self, shape: Shape, heads: int = 4) -> None:
        super().__init__()
        self.heads, self.causal = heads, shape.causal
        self.mix, self.out = nn.Linear(shape.width, 3 * shape.width), nn.Linear(shape.width, shape.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.mix(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(shape)
        self.inner = nn.Sequential(
            nn.Linear(width, 4 * width), ACTIVATIONS[shape.activation](), nn.Linear(4 * width, width),
            nn.Dropout(shape.dropout)
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.first(x))
        return x + self.inner(self.second(x))


class Blocks(nn.Module):
    """Embeddings and transformer blocks; one vector a letter, or their mean."""

    def __init__(self, letters: int, length: int, shape: Shape, pooled: bool) -> None:
        super().__init__()
        self.letters, self.places = nn.Embedding(letters, shape.width), nn.Embedding(length, shape.width)
        self.blocks = nn.Sequential(*[Block(shape) for _ in range(shape.depth)])
        self.norm, self.pooled = nn.LayerNorm(shape.width), pooled

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.norm(self.blocks(self.letters(x) + self.places(torch.arange(x.shape[1], device=x.device))))
        return hidden.mean(1) if self.pooled else hidden


def transformer(letters: int, length: int, outputs: int, shape: Shape, *, pooled: bool) -> Net:
    net = Net(Blocks(letters, length, shape, pooled), nn.Linear(shape.width, shape.outputs or outputs), shape)
    for module in net.modules():
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
    return net


class Tower(nn.Module):
    """Vectors for users and items; what a user thinks of an item is their product."""

    def __init__(self, users: int, items: int, shape: Shape) -> None:
        super().__init__()
        self.users, self.items = nn.Embedding(users, shape.width), nn.Embedding(items, shape.width)
        for table in (self.users, self.items):
            nn.init.normal_(table.weight, std=0.3)

    def forward(self, triples: torch.Tensor) -> torch.Tensor:
        user, better, worse = self.users(triples[:, 0]), self.items(triples[:, 1]), self.items(triples[:, 2])
        return user * (better - worse)


class Total(nn.Module):
    """The sum over the last dimension, with a learnt weight for each."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.weight).sum(-1)


def ranking(users: int, items: int, shape: Shape) -> Net:
    return Net(Tower(users, items, shape), Total(shape.width), shape)
