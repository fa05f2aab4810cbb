"""The seed corpus: the golden logs that real tools wrote, one small recording and one small checkpoint of each kind,
made by a training of a second. Excerpts of them become inputs, so that one costs milliseconds."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
TEXT_BYTES = 30_000  # kept of a log that is longer
LARGEST = 100_000
FOLDERS = (
    "wandb",
    "mlflow/mlruns",
    "tensorboard",
    "lightning",
    "dvclive",
    "allennlp",
    "deepspeed/monitor",
    "transformers/good",
    "recording",
)
CHECKPOINTS = "checkpoints"
TRAINING = """
import sys, torch, numpy, traindx
from pathlib import Path
place = Path(sys.argv[1])
torch.manual_seed(0); torch.set_num_threads(1)
nn = torch.nn
model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(64, 8); y = x[:, :3].argmax(1)
with traindx.watch(model, to=place / "recording" / "run.traindx", budget=1.0, show=False):
    for step in range(30):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x[:16]), y[:16]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
(place / "checkpoints").mkdir()
whole = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 30}
torch.save(whole, place / "checkpoints" / "model.pt")
numpy.savez(place / "checkpoints" / "weights.npz", **{n: p.detach().numpy() for n, p in model.named_parameters()})
import json
header, body = {}, b""
for name, p in model.named_parameters():
    data = p.detach().numpy().tobytes()
    header[name] = {"dtype": "F32", "shape": list(p.shape), "data_offsets": [len(body), len(body) + len(data)]}
    body += data
text = json.dumps(header).encode()
(place / "checkpoints" / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + body)
"""


@dataclass(frozen=True)
class Seed:
    """A file that is changed, and the path that is read: the file itself or the directory that it belongs to."""

    path: Path
    read: Path
    checkpoint: bool
    group: str  # the tool that wrote it


def make(place: Path) -> None:
    """Write the corpus below a folder that does not exist yet."""
    part = place.with_name(f"{place.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(GOLDEN, part, ignore=shutil.ignore_patterns("make", "expected.json"))
    for path in part.rglob("*"):
        if path.is_file() and path.suffix in (".txt", ".log"):
            path.write_bytes(path.read_bytes()[:TEXT_BYTES])
    subprocess.run([sys.executable, "-c", textwrap.dedent(TRAINING), str(part)], check=True, timeout=300)
    part.rename(place)


def seeds_of(place: Path) -> list[Seed]:
    """Every seed of a corpus, in order."""
    found = []
    for path in sorted(place.rglob("*")):
        if not path.is_file() or not 0 < path.stat().st_size <= LARGEST:
            continue
        name = path.relative_to(place).as_posix()
        if name.startswith(CHECKPOINTS):
            found.append(Seed(path, path, True, CHECKPOINTS))
            continue
        folder = next((folder for folder in FOLDERS if name.startswith(f"{folder}/")), None)
        found.append(Seed(path, path, False, name.partition("/")[0]))
        if folder is not None:
            found.append(Seed(path, place / folder, False, folder))
    return found
