"""Checkpoints made for tests: safetensors written by hand, and small trained networks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

CODES = {"float32": "F32", "float64": "F64", "float16": "F16", "int64": "I64", "uint8": "U8"}


def write_safetensors(path: Path, arrays: Mapping[str, NDArray[Any]], codes: Mapping[str, str] | None = None) -> Path:
    """The format from its description: eight bytes of length, the header, the numbers. `codes` renames dtypes (bf16 as
    uint16)."""
    header: dict[str, Any] = {}
    body = b""
    for name, array in arrays.items():
        data = np.ascontiguousarray(array).tobytes()
        code = (codes or {}).get(name) or CODES[array.dtype.name]
        header[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    return write_header(path, header, body)


def write_header(path: Path, header: Any, body: bytes = b"", length: int | None = None) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + body)
    return path


INPUTS = torch.randn(256, 64, generator=torch.Generator().manual_seed(0))
TARGETS = INPUTS[:, :4].argmax(1)


def mlp(width: int = 96) -> nn.Sequential:
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))


def cnn() -> nn.Sequential:
    first = nn.Sequential(nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16), nn.ReLU())
    return nn.Sequential(*first, nn.Conv2d(16, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(), nn.Linear(512, 4))


def fit(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int, inputs: torch.Tensor = INPUTS) -> None:
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        batch = torch.randint(0, len(inputs), (32,), generator=generator)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs[batch]).float(), TARGETS[batch]).backward()
        optimizer.step()


def trained(
    model: nn.Module, make: Callable[..., torch.optim.Optimizer] = torch.optim.Adam, steps: int = 40, **options: Any
) -> dict[str, Any]:
    """What a plain script saves: weights, optimiser and step."""
    optimizer = make(model.parameters(), **{"lr": 1e-3, **options})
    fit(model, optimizer, steps)
    return saved(model, optimizer, steps)


def saved(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> dict[str, Any]:
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": steps}
