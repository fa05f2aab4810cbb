"""Write tests/golden/tensorboard with the real libraries.

Run in an environment with torch 2.13.0, tensorboard 2.21.0 and tensorboardX 2.6.5:
    python tests/golden/make/write_tensorboard.py
Beside each run directory <run>/ lies <run>.json with what was written: {series: {"steps": […], "values": […]}}.
"""

from __future__ import annotations

import json
import math
import shutil
import struct
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboardX import SummaryWriter as XWriter
from torch.utils.tensorboard import SummaryWriter

HERE = Path(__file__).parent.parent / "tensorboard"
START = 1_750_000_000.0


class Expected:
    def __init__(self) -> None:
        self.series: dict[str, dict[str, list[float]]] = defaultdict(lambda: {"steps": [], "values": []})

    def add(self, name: str, step: int, value: float) -> None:
        entry = self.series[name]
        while entry["steps"] and entry["steps"][-1] >= step:  # a resumed run: what is written later counts
            entry["steps"].pop()
            entry["values"].pop()
        entry["steps"].append(step)
        entry["values"].append(float(np.float32(value)))

    def save(self, folder: Path) -> None:
        folder.with_suffix(".json").write_text(json.dumps(self.series))


def loss_at(step: int) -> float:
    return 2 * math.exp(-step / 30) + 0.1


def torch_run() -> None:
    """Two files (resumed at 40), NaN and Inf, add_scalars, hparams, a JSON text, a histogram."""
    folder, expected = HERE / "torch", Expected()
    for first, last in ((0, 60), (40, 100)):
        writer = SummaryWriter(str(folder))
        if not first:
            writer.add_text("args", json.dumps({"learning_rate": 0.05, "optim": "adamw"}))
            writer.add_histogram("weights/fc", np.linspace(-1, 1, 50), 0)
            writer.add_hparams({"batch_size": 32, "model": "mlp", "amp": True}, {"hparam/accuracy": 0.5})
        for step in range(first, last):
            wall = START + 2 * step + first
            values = {"train/loss": loss_at(step), "train/lr": 0.05 * (1 - step / 100), "grad_norm": 1.0 + step % 7}
            if step % 10 == 9:
                values |= {"val/loss": loss_at(step) + 0.2, "val/acc": step / 100}
            if step == 97:
                values["train/loss"] = math.nan
            if step == 98:
                values["train/loss"], values["grad_norm"] = math.inf, -math.inf
            for name, value in values.items():
                writer.add_scalar(name, value, step, walltime=wall)
                expected.add(name, step, value)
            curves = {"real": 0.5 + step / 1000, "fake": 0.7 - step / 1000}
            writer.add_scalars("loss/D", curves, step, walltime=wall)
            for curve, value in curves.items():
                expected.add(f"loss/D/{curve}", step, value)
        writer.close()
        time.sleep(1.1)  # the file name holds the second it was opened in
    expected.add("hparam/accuracy", 0, 0.5)
    expected.save(folder)


def tensorboardx_run() -> None:
    """tensorboardX: more steps than one varint byte holds, tags of many lengths, one tag without any step."""
    folder, expected = HERE / "tensorboardx", Expected()
    writer = XWriter(str(folder))
    for step in range(0, 20_000, 100):
        for name in ("loss", "Loss/train", "metrics/mAP50-95", "gradients/layer.0.weight"):
            value = loss_at(step // 100) * len(name)
            writer.add_scalar(name, value, step, walltime=START + step / 10)
            expected.add(name, step, value)
    for index in range(5):
        writer.add_scalar("stepless_loss", index * 1.5, walltime=START + index)
        expected.series["stepless_loss"]["steps"].append(index)
        expected.series["stepless_loss"]["values"].append(index * 1.5)
    writer.close()
    expected.save(folder)


def tensor(value: float, form: str) -> tensor_pb2.TensorProto:
    shape = tensor_shape_pb2.TensorShapeProto()
    if form == "content":
        return tensor_pb2.TensorProto(
            dtype=types_pb2.DT_FLOAT, tensor_shape=shape, tensor_content=struct.pack("<f", value)
        )
    if form == "double":
        return tensor_pb2.TensorProto(
            dtype=types_pb2.DT_DOUBLE, tensor_shape=shape, tensor_content=struct.pack("<d", value)
        )
    if form == "half":
        bits = int(np.array([value], dtype=np.float16).view(np.uint16)[0])
        return tensor_pb2.TensorProto(dtype=types_pb2.DT_HALF, tensor_shape=shape, half_val=[bits])
    if form == "int":
        return tensor_pb2.TensorProto(dtype=types_pb2.DT_INT64, tensor_shape=shape, int64_val=[int(value)])
    return tensor_pb2.TensorProto(dtype=types_pb2.DT_FLOAT, tensor_shape=shape, float_val=[value])


def keras_run() -> None:
    """The way TF2 and Keras write: tensors, metadata only at a tag's first event, train/ and validation/ apart."""
    expected = Expected()
    forms = {"epoch_loss": "content", "epoch_accuracy": "float_val", "epoch_lr": "double", "epoch_mae": "half",
             "epoch_examples_count": "int"}  # fmt: skip
    for split in ("train", "validation"):
        writer = EventFileWriter(str(HERE / "keras" / split))
        for epoch in range(30):
            for tag, form in forms.items():
                value = loss_at(epoch) + (split == "validation")
                if form == "half":
                    value = float(np.float16(value))
                if form == "int":
                    value = 1000 + epoch
                entry = summary_pb2.Summary.Value(tag=tag, tensor=tensor(value, form))
                if epoch == 0:
                    entry.metadata.plugin_data.plugin_name = "scalars"
                    entry.metadata.data_class = summary_pb2.DATA_CLASS_SCALAR
                event = event_pb2.Event(wall_time=START + epoch, step=epoch, summary=summary_pb2.Summary(value=[entry]))
                writer.add_event(event)
                name = f"{split}/{tag}"
                expected.add(name, epoch, value)
                if form == "double":
                    expected.series[name]["values"][-1] = value
        writer.close()
    expected.save(HERE / "keras")


def merged_run() -> None:
    """The way TF1 wrote: one event with all summaries of a step, a histogram among them; -1 as a step."""
    folder, expected = HERE / "merged", Expected()
    writer = EventFileWriter(str(folder))
    for step in range(-1, 60):
        values = {"loss": loss_at(step), "accuracy": step / 60, "lr": 0.1}
        entries = [summary_pb2.Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        if step % 20 == 0:
            histogram = summary_pb2.HistogramProto(min=0, max=1, num=100, bucket_limit=[0.5, 1.0], bucket=[60, 40])
            entries.insert(1, summary_pb2.Summary.Value(tag="weights", histo=histogram))
        summary = summary_pb2.Summary(value=entries)
        writer.add_event(event_pb2.Event(wall_time=START + step, step=step, summary=summary))
        for name, value in values.items():
            expected.add(name, step, value)
    writer.close()
    expected.save(folder)


if __name__ == "__main__":
    shutil.rmtree(HERE, ignore_errors=True)
    torch_run()
    tensorboardx_run()
    keras_run()
    merged_run()
