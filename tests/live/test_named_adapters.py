"""Adapters that a layer keeps by name, and texts whose order their tokens tell."""

from __future__ import annotations

import torch

from traindx.live.instruments.text_overlap import _tokens
from traindx.live.measures.low_rank import pairs_in


class Layer(torch.nn.Module):
    """As PEFT builds them: of full rank, with two adapters."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.base_layer = torch.nn.Linear(8, 8, bias=False).requires_grad_(False)
        self.lora_A = torch.nn.ModuleDict({name: torch.nn.Linear(8, rank, bias=False) for name in ("one", "other")})
        self.lora_B = torch.nn.ModuleDict({name: torch.nn.Linear(rank, 8, bias=False) for name in ("one", "other")})
        self.scaling = {"one": 0.5, "other": 2.0}
        self.active_adapters = ["other"]


def test_pairs_of_several_adapters_and_of_any_rank_are_told_apart() -> None:
    for rank in (2, 8):
        found = pairs_in(torch.nn.Sequential(Layer(rank)))
        assert [(one.scale, one.resting, one.rank) for one in found] == [(0.5, True, rank), (2.0, False, rank)]


def test_a_token_is_counted_once_a_row() -> None:
    assert _tokens(torch.tensor([[5, 5, 7], [5, 2, 2]])) == (2, {2: 1, 5: 2, 7: 1})
