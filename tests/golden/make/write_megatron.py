"""Write tests/golden/megatron/stdout.txt: Megatron-LM's own `training_log`, argument dump and evaluation line around a small
training on the CPU; its models need a GPU, its logging does not.

Run in an environment with torch 2.13.0, triton, einops and transformers, with a checkout of NVIDIA/Megatron-LM at d98e8a6:
    python tests/golden/make/write_megatron.py PATH_OF_THE_CHECKOUT
"""  # noqa: E501

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import typing
from pathlib import Path
from typing import Any

import torch
import typing_extensions
import vision_ops

vision_ops.declare()
sys.path.insert(0, sys.argv[1])
typing.override = typing_extensions.override  # type: ignore[attr-defined]  # its sources want Python 3.12 for this name only

_tensor = torch.tensor


def on_cpu(*values: Any, **options: Any) -> torch.Tensor:
    """The sums that training_log keeps are made on 'cuda' by name."""
    options["device"] = "cpu"
    return _tensor(*values, **options)


torch.tensor = on_cpu  # type: ignore[assignment]
torch.cuda.synchronize = lambda device=None: None
torch.cuda.current_device = lambda: 0

from megatron.core.num_microbatches_calculator import init_num_microbatches_calculator  # noqa: E402
from megatron.training import global_vars, training  # noqa: E402
from megatron.training.arguments import _print_args, parse_args  # noqa: E402

HERE = Path(__file__).resolve().parent.parent / "megatron"
ITERATIONS = 200
OPTIONS = [
    "--num-layers", "2", "--hidden-size", "16", "--num-attention-heads", "2", "--seq-length", "8", "--max-position-embeddings", "8",  # noqa: E501
    "--micro-batch-size", "8", "--global-batch-size", "8", "--train-iters", str(ITERATIONS), "--lr", "0.02", "--min-lr", "0.002",  # noqa: E501
    "--lr-decay-style", "cosine", "--lr-warmup-iters", "10", "--clip-grad", "1.0", "--log-interval", "10", "--eval-interval", "50",  # noqa: E501
    "--eval-iters", "1", "--weight-decay", "0.01", "--no-one-logger",
]  # fmt: skip

PRINTED = (  # of about six hundred
    "clip_grad", "eval_interval", "fp16", "bf16", "global_batch_size", "hidden_size", "lr", "lr_decay_style", "lr_warmup_iters",  # noqa: E501
    "micro_batch_size", "min_lr", "num_layers", "optimizer", "padded_vocab_size", "pipeline_model_parallel_size", "seq_length",  # noqa: E501
    "tensor_model_parallel_size", "train_iters", "weight_decay", "world_size",
)  # fmt: skip


def train() -> None:
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    sys.argv = ["pretrain_gpt.py", *OPTIONS]
    args = parse_args()
    args.data_parallel_size, args.consumed_train_samples, args.skipped_train_samples = 1, 0, 0
    args.padded_vocab_size, args.gtp_weight_remat_size = 11, 1
    _print_args("arguments", argparse.Namespace(**{name: getattr(args, name) for name in PRINTED}))
    global_vars.set_args(args)
    global_vars._set_timers(args)
    global_vars._GLOBAL_ENERGY_MONITOR = object()  # asked for, and used only where energy is to be logged
    init_num_microbatches_calculator(0, None, 8, 8, 1)
    training.num_floating_point_operations = lambda *a, **k: 1.0
    training.reduce_max_stat_across_model_parallel_group = lambda value, group=None: value
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Embedding(11, 16), torch.nn.Linear(16, 11))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, ITERATIONS, args.min_lr)

    def loss_of() -> torch.Tensor:
        words = torch.randint(0, 10, (8, 8))
        scores = model(words)
        return torch.nn.functional.cross_entropy(scores.flatten(0, 1), (words.flatten() * 3 + 1) % 11)

    timers = global_vars.get_timers()
    timers("interval-time", log_level=0).start()
    sums: dict[str, Any] = {}
    for iteration in range(1, ITERATIONS + 1):
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip_grad))
        optimizer.step()
        rate = schedule.get_last_lr()[0]
        schedule.step()
        args.consumed_train_samples += 8
        training.training_log({"lm loss": loss.detach()}, sums, rate, iteration, 1.0, False, 0, norm, None, None, None)
        if iteration % args.eval_interval == 0:
            with torch.no_grad():
                held_out = loss_of()
            training.evaluate = lambda *a, result=held_out, **k: ({"lm loss": result}, None, False)
            training.evaluate_and_print_results(
                f"iteration {iteration}", None, None, None, iteration, None, None, write_to_tensorboard=False
            )


def main() -> None:
    HERE.mkdir(parents=True, exist_ok=True)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        train()
    (HERE / "stdout.txt").write_text(output.getvalue())


if __name__ == "__main__":
    main()
