"""Adapters on a frozen base: what is right about them is no fault, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_scripts import facts_of, present

BASE = """
class Pair(nn.Module):
    def __init__(self, inner, r=4, scale=2.0):
        super().__init__()
        self.inner, self.scale = inner, scale
        self.down, self.up = nn.Linear(inner.in_features, r, bias=False), nn.Linear(r, inner.out_features, bias=False)
        nn.init.zeros_(self.up.weight)
    def forward(self, x): return self.inner(x) + self.scale * self.up(self.down(x))

class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.mix, self.out = nn.LayerNorm(d), nn.Linear(d, d), nn.Linear(d, d)
    def forward(self, x): return x + self.out(F.gelu(self.mix(self.norm(x))))

class Net(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.table, self.blocks, self.head = nn.Embedding(20, d), nn.ModuleList(Block(d) for _ in range(4)), nn.Linear(d, 20)
    def forward(self, ids):
        x = self.table(ids)
        for block in self.blocks: x = block(x)
        return self.head(x)

def train(net, steps=40, rate=1e-2):
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=rate)
    for _ in range(steps):
        ids = torch.randint(0, 20, (8, 6))
        loss = F.cross_entropy(net(ids).flatten(0, 1), ((ids * 3 + 1) % 20).flatten())
        optimizer.zero_grad(); loss.backward(); optimizer.step()

net = Net()
net.load_state_dict({name: 1.3 * value for name, value in net.state_dict().items()})
net.requires_grad_(False)
"""  # noqa: E501
SOUND = {
    "pairs in every block": "for b in net.blocks: b.mix = Pair(b.mix)\ntrain(net)",
    "pairs beside the head too": "net.head = Pair(net.head)\nfor b in net.blocks: b.mix = Pair(b.mix)\ntrain(net)",
    "frozen layers whose heads share keys and values": "for b in net.blocks:\n"
    "    b.mix = nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 16)).requires_grad_(False)\n"
    "    b.keys, b.values = (nn.Linear(16, 8).requires_grad_(False) for _ in range(2))\n"
    "net.head.requires_grad_(True)\ntrain(net)",
    "pairs and a head that learns": "for b in net.blocks: b.out = Pair(b.out)\nnet.head.requires_grad_(True)\n"
    "train(net)",
}


@pytest.mark.parametrize("script", SOUND.values(), ids=SOUND)
def test_a_low_rank_pair_beside_a_frozen_matrix_is_no_fault(script: str, tmp_path: Path) -> None:
    assert not present(facts_of(BASE + script, tmp_path))


FAULTS = {
    "frozen with the base": (
        "for b in net.blocks: b.mix = Pair(b.mix)\nfor b in net.blocks: b.mix.requires_grad_(False)\n"
        "net.head.requires_grad_(True)\ntrain(net)",
        "frozen-weights",
    ),
    "defined, and put nowhere": (
        "Pair.__name__ = 'LoRALinear'\nfor b in net.blocks:\n    if hasattr(b, 'c_attn'): b.c_attn = Pair(b.c_attn)\n"
        "for b in net.blocks: b.norm.requires_grad_(True)\ntrain(net)",
        "adapter-inactive",
    ),
    "beside the head alone": ("net.head = Pair(net.head)\ntrain(net)", "adapter-inactive"),
    "in one block of four": ("net.blocks[0].mix = Pair(net.blocks[0].mix)\ntrain(net)", "adapter-inactive"),
    "two hundred times too strong": (
        "for b in net.blocks: b.mix = Pair(b.mix, scale=400.0)\ntrain(net)",
        "adapter-scale-extreme",
    ),
    "at the rate of full fine-tuning": (
        "for b in net.blocks: b.mix = Pair(b.mix)\ntrain(net, rate=1e-6)",
        "adapter-scale-extreme",
    ),
}


@pytest.mark.parametrize(("script", "symptom"), FAULTS.values(), ids=FAULTS)
def test_an_adapter_that_cannot_learn_is_seen(script: str, symptom: str, tmp_path: Path) -> None:
    seen = present(facts_of(BASE + script, tmp_path))
    assert symptom in seen
    assert not seen & {"no-nonlinearity", "equal-initial-weights", "parameters-not-optimized"}
