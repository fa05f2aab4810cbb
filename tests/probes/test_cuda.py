"""The same on a GPU: a loss under autocast with a gradient scaler is replayed, and nothing changes."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import traindx  # noqa: E402
from traindx.live.host.recorder import open_hub  # noqa: E402
from traindx.probes.capture import STEPS, Capture  # noqa: E402
from traindx.probes.subject import Subject  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Dropout(0.3), nn.Flatten(), nn.Linear(16 * 36, 5)
    ).cuda()


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(32, 3, 8, 8, device="cuda"), torch.randint(5, (32,), device="cuda")


def test_half_precision_is_replayed(tmp_path: Path) -> None:
    model, losses, found = net(), list[float](), list[Subject]()
    optimizer, scaler = torch.optim.AdamW(model.parameters(), 1e-3), torch.amp.GradScaler("cuda")
    hub = open_hub(tmp_path, 0.5, None)
    hub.attach()
    hub.add(Capture(hub, 0, lambda subjects, hub: found.extend(subjects)))
    for _ in range(STEPS):
        x, y = batch()
        with torch.autocast("cuda", torch.float16):
            loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    hub.detach()
    (subject,) = found
    assert subject.notes == ()
    assert len(subject.steps) == STEPS
    with subject.undisturbed():
        assert subject.loss(0).item() == pytest.approx(losses[0], rel=1e-3)


def test_nothing_changes() -> None:
    model = net()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    x, y = batch()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    moments = [state["exp_avg"].clone() for state in optimizer.state.values()]
    noise = torch.cuda.get_rng_state()
    result = traindx.probe(model, [batch() for _ in range(3)], nn.CrossEntropyLoss(), optimizer, seconds=10)
    after = torch.cuda.get_rng_state()
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert all(torch.equal(a, b["exp_avg"]) for a, b in zip(moments, optimizer.state.values(), strict=True))
    assert not any("error" in reason for reading in result.readings.values() for reason in reading.unknown)
    torch.cuda.set_rng_state(noise)
    for _ in range(3):
        batch()
    assert torch.equal(torch.cuda.get_rng_state(), after)
