"""Write tests/golden/deepspeed: what DeepSpeed's engines print on one CPU process, and the files of its CSV monitor.

Run in an environment with torch 2.13.0 and deepspeed 0.19.8 (DS_BUILD_OPS=0 pip install --no-build-isolation deepspeed):
    python tests/golden/make/write_deepspeed.py
Three trainings: the engine, the engine with fp16 whose loss scale starts far too high, and the pipeline engine.
"""  # noqa: E501

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent / "deepspeed"
KINDS = ("engine", "overflow", "pipeline")
STEPS = 60
_PRIVATE = re.compile(r"(?m)^.*(?:mpi4py|master address|world_size=|gloo|Gloo|initialize_lightning|socket).*\n")


def settings(kind: str) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "train_batch_size": 8,
        "steps_per_print": 5,
        "gradient_clipping": 1.0,
        "optimizer": {"type": "AdamW", "params": {"lr": 0.02, "weight_decay": 0.01, "torch_adam": True}},
        "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_max_lr": 0.02, "warmup_num_steps": 10, "total_num_steps": STEPS}},  # noqa: E501
        "csv_monitor": {"enabled": True, "output_path": "monitor", "job_name": kind},
    }  # fmt: skip
    if kind == "overflow":
        chosen["fp16"] = {"enabled": True, "initial_scale_power": 22, "loss_scale_window": 20, "hysteresis": 1}
        chosen["zero_optimization"] = {"stage": 1}
    return chosen


def train(kind: str) -> None:
    import deepspeed
    import torch
    from deepspeed.accelerator import get_accelerator
    from deepspeed.utils import log_dist
    from deepspeed.utils.logging import set_log_level_from_string
    from torch import nn

    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # not to be compiled for one process to talk to none
    get_accelerator().is_fp16_supported = lambda: True  # torch can by now, if slowly
    set_log_level_from_string("info")  # what releases before 0.18 printed anyway
    torch.manual_seed(0)
    deepspeed.init_distributed("gloo")
    inputs = torch.randn(8 * STEPS, 4)
    labels = inputs[:, :3].argmax(1)
    layers = [nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3)]
    data = list(zip(inputs, labels, strict=True))
    measure = nn.CrossEntropyLoss()
    if kind == "pipeline":
        from deepspeed.pipe import PipelineModule

        net = PipelineModule(layers, num_stages=1, loss_fn=measure, partition_method="uniform")
        engine, *_ = deepspeed.initialize(
            model=net, model_parameters=list(net.parameters()), training_data=data, config=settings(kind)
        )
        for _ in range(STEPS):
            engine.train_batch()
        return
    net = nn.Sequential(*layers)
    engine, *_ = deepspeed.initialize(model=net, model_parameters=list(net.parameters()), config=settings(kind))
    dtype = next(engine.module.parameters()).dtype
    for step in range(STEPS):
        batch = slice(8 * step, 8 * step + 8)
        loss = measure(engine(inputs[batch].to(dtype)).float(), labels[batch])
        engine.backward(loss)
        engine.step()
        log_dist(f"global_step: {engine.global_steps} loss: {loss.item():.4f}", ranks=[0])


def main() -> None:
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir(parents=True)
    alone = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"}
    alone |= {"GLOO_SOCKET_IFNAME": "lo", "DS_ACCELERATOR": "cpu"}
    with tempfile.TemporaryDirectory() as temporary:
        for kind in KINDS:
            output = subprocess.run(
                [sys.executable, __file__, kind], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, cwd=temporary,  # noqa: E501
                env={**os.environ, **alone},
            ).stdout.decode()  # fmt: skip
            output = _PRIVATE.sub("", re.sub(r"(?:/[\w.+-]+)+/site-packages", "/site-packages", output))
            (HERE / f"{kind}.log").write_text(output.replace(temporary, "/data"))
            (HERE / "ds_config.json").write_text(json.dumps(settings("engine"), indent=2) + "\n")
        shutil.copytree(Path(temporary) / "monitor", HERE / "monitor")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        train(sys.argv[1])
    else:
        main()
