"""Future tokens: found, and looked for without leaving a trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_scripts import facts_of, run

from traindx.live.events.hub import Hub
from traindx.live.instruments import causality

MODEL = """
class Tiny(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.causal, self.calls = causal, 0
        self.emb, self.pos, self.head = nn.Embedding(20, 16), nn.Embedding(12, 16), nn.Linear(16, 20)
        self.attn = nn.MultiheadAttention(16, 2, batch_first=True, dropout=0.1)
        self.norm, self.drop = nn.BatchNorm1d(16), nn.Dropout(0.1)
    def forward(self, idx):
        self.calls += 1
        x = self.emb(idx) + self.pos(torch.arange(idx.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(idx.shape[1]) if self.causal else None
        x = x + self.attn(x, x, x, attn_mask=mask, need_weights=False)[0]
        return self.head(self.drop(self.norm(x.transpose(1, 2)).transpose(1, 2)))
model = {model}
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
data = torch.randint(0, 20, (400,))
for step in range(8):
    starts = torch.randint(0, 380, (6,))
    x = torch.stack([data[s:s + 12] for s in starts]); y = torch.stack([data[s + 1:s + 13] for s in starts])
    loss = F.cross_entropy(model(x).reshape(-1, 20), {target}.reshape(-1)); opt.zero_grad(); loss.backward(); opt.step()
    print(loss.item().hex())
print(sum(p.double().abs().sum().item() for p in model.state_dict().values()).hex(), model.calls, torch.rand(1).item().hex())
"""  # noqa: E501


@pytest.mark.parametrize(
    ("model", "target", "found"),
    [("Tiny(False)", "y", True), ("Tiny(True)", "y", False), ("Tiny(False)", "x.flip(0)", None)],
    ids=["no mask", "mask", "another task"],
)
def test_future(tmp_path: Path, model: str, target: str, found: bool | None) -> None:
    fact = facts_of(MODEL.format(model=model, target=target), tmp_path).get("sees-the-future")
    assert (fact["present"] if fact else None) is found


def test_the_training_is_the_same_bit_for_bit(tmp_path: Path) -> None:
    """Dropout, batch-norm buffers, counters of the user's own and random numbers go on as if nobody had looked."""
    script = MODEL.format(model="Tiny(False)", target="y")
    bare = run(script, None)
    assert run(script, tmp_path / "run.traindx") == bare
    assert "8 0x" in bare


@pytest.mark.parametrize(("room_from", "ended"), [(3, False), (9, True)], ids=["there is room", "in the end"])
def test_a_dear_call_waits_for_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room_from: int, ended: bool
) -> None:
    asked: list[int] = []

    def room(hub: Hub) -> float:
        asked.append(hub.step)
        return 1.0 if hub.step >= room_from else 0.0

    monkeypatch.setattr(causality._Call, "dear", True)
    monkeypatch.setattr(Hub, "room", property(room))
    facts = facts_of(MODEL.format(model="Tiny(False)", target="y"), tmp_path, ended=ended)
    assert facts["sees-the-future"]["present"]
    assert asked[:2] == [2, 3]
    assert (asked[-1] >= room_from) is not ended
