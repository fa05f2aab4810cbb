"""Run as a program: a training under a recorder of which one function after the other fails at its first call.

    python tests/live/failing_recorder.py EVERY

EVERY 1 makes each function fail that the training calls, 20 each twentieth. Prints what the training noticed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from traindx import version
from traindx.live.host import recorder

OWN = os.path.dirname(os.path.abspath(version.__file__)) + os.sep
# what catches the faults of everything else, and the start of the recorder, which the hook catches
EXEMPT = ("live/host/patches.py", "live/host/recorder.py")


def training(folder: Path) -> str:
    """One of everything that is patched or hooked; the hash of the weights."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(64, 8), torch.arange(64) % 2)
    loader, held_out = DataLoader(data, 16, shuffle=True), DataLoader(data, 32)
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 1}, folder / "state.pt")
    state = torch.load(folder / "state.pt", weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    loss_of = nn.CrossEntropyLoss()
    for _ in range(4):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for x, y in held_out:
                loss_of(model(x), y)
                nn.functional.mse_loss(model(x)[:, 0], y.float())
        schedule.step()
    torch.autograd.grad(loss_of(model(x), y), list(model.parameters()))
    scaler, plain = torch.amp.GradScaler("cpu"), torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        model.zero_grad()
        scaler.scale(loss_of(model(x), y)).backward()
        scaler.step(plain)
        scaler.update()
    with contextlib.suppress(RuntimeError):
        model(x[:, :3])
    whole = torch.optim.LBFGS(model.parameters(), max_iter=2)

    def closure() -> torch.Tensor:
        whole.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        return loss

    whole.step(closure)
    return hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()


def recorded(failing: str | None) -> dict[str, Any]:
    """The training in this process, and the functions of the recorder that it has called."""
    folder = Path(tempfile.mkdtemp(prefix="traindx-faults-"))
    called: dict[str, int] = {}

    def tracer(frame: FrameType, event: str, argument: Any) -> None:
        path = frame.f_code.co_filename
        if path.startswith(f"{OWN}live{os.sep}") and "(" not in path:
            name = f"{path.removeprefix(OWN)}:{frame.f_code.co_firstlineno}:{frame.f_code.co_name}"
            called[name] = called.get(name, 0) + 1
            if name == failing and called[name] == 1:
                raise RuntimeError(name)

    found: dict[str, Any] = {}
    try:
        recorder.start(folder / "run.traindx", budget=0.05)
        sys.settrace(tracer)
        found["weights"] = training(folder)
    except BaseException:
        found["error"] = traceback.format_exc()[-1500:]
    sys.settrace(None)
    shutil.rmtree(folder, ignore_errors=True)
    return found | {"called": list(called)}


def in_child(failing: str | None) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with os.fdopen(writing, "w") as pipe:
            json.dump(recorded(failing), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"error": "the process died", "called": []}


def main() -> int:
    every = int(sys.argv[1])
    whole = in_child(None)
    names = [name for name in whole["called"] if not name.startswith(EXEMPT) and not name.endswith(":<module>")]
    with tempfile.TemporaryDirectory() as folder:
        bare = training(Path(folder))
    noticed = [] if whole.get("weights") == bare else [f"nothing failed: {whole.get('error')}"]
    for name in names[::every]:
        found = in_child(name)
        if found.get("weights") != bare:
            noticed.append(f"{name}: {found.get('error', 'other weights')}")
    print(json.dumps({"functions": len(names), "noticed": noticed}))
    return 1 if noticed else 0


if __name__ == "__main__":
    raise SystemExit(main())
