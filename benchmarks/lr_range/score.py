"""How good are suggested learning rates? Each is trained with, from the same start for the same number of updates,
beside a grid.

    python benchmarks/lr_range/score.py [--seeds 0 1] [--only NAME …] [--keep FILE]

Needs torch, scikit-learn, torch-lr-finder, lightning and fastai in the environment; every suggestion comes from the
real package. A suggestion fails if its training diverges, ends more than half the best grid loss above it (1.5 times
for positive losses), or if there is none. `--keep` holds finished trainings, so that a second run only trains at rates
that are new."""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import logging
import math
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import torch
from tasks import TASKS, Task

UPDATES = 250
LAST = 25  # updates whose mean loss is the final loss
GRID = tuple(10 ** (k / 2) for k in range(-10, 3))  # 1e-5 to 10 in half decades
WORSE = 0.5  # of the best grid loss above it
TIME = 60.0  # seconds: more than a probe usually gets, so that a busy machine does not shorten its trials


def main() -> None:
    options = _options()
    torch.set_num_threads(1)
    mpl.use("Agg")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    kept: dict[str, float] = json.loads(options.keep.read_text()) if options.keep and options.keep.exists() else {}
    outcomes: dict[str, list[tuple[float, bool]]] = {}
    seconds: dict[str, list[float]] = {}
    for task in TASKS:
        if options.only and not any(name in task.name for name in options.only):
            continue
        for seed in options.seeds:
            final = {rate: _final(task, seed, rate, kept) for rate in GRID}
            best_rate = min(final, key=lambda rate: final[rate])
            best = final[best_rate]
            print(f"{task.name} #{seed}: best {best:.4g} at {best_rate:.2g}", flush=True)
            for name, rate, took in _suggestions(task, seed):
                reached = _final(task, seed, rate, kept) if rate else math.inf
                above = (reached - best) / abs(best)
                outcomes.setdefault(name, []).append((above, not above <= WORSE))
                seconds.setdefault(name, []).append(took)
                told = f"{rate:.2g}" if rate else "none"
                fails = "" if above <= WORSE else " fails"
                print(f"    {name:22} {told:>8} {reached:9.4g} {above:+8.1%}{fails}", flush=True)
            if options.keep:
                options.keep.write_text(json.dumps(kept))
    print("\n| suggestion | fails | median above the best grid loss | worst that did not fail | median CPU s |")
    print("|---|---|---|---|---|")
    for name, found in outcomes.items():
        fine = [above for above, failed in found if not failed]
        share = f"{sum(failed for _, failed in found)}/{len(found)}"
        middle, took = statistics.median(above for above, _ in found), statistics.median(seconds[name])
        print(f"| {name} | {share} | {middle:+.0%} | {max(fine, default=math.nan):+.0%} | {took:.1f} |")


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()


def _final(task: Task, seed: int, rate: float, kept: dict[str, float]) -> float:
    """The mean loss of the last updates of a training at this rate; infinite where it breaks."""
    key = f"{task.name}|{seed}|{rate:.6g}"
    if key not in kept:
        model, loader = task.start(seed)
        optimizer = task.optimizer(model.parameters(), lr=rate)
        losses = []
        batches = itertools.chain.from_iterable(itertools.repeat(loader))
        for x, y in itertools.islice(batches, UPDATES):
            optimizer.zero_grad()
            loss = task.loss(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(float(loss))
            if not math.isfinite(losses[-1]):
                break
        kept[key] = statistics.fmean(losses[-LAST:]) if math.isfinite(losses[-1]) else math.inf
    return kept[key]


def _suggestions(task: Task, seed: int) -> list[tuple[str, float | None, float]]:
    found: list[tuple[str, float | None, float]] = []
    for method in (by_traindx, by_torch_lr_finder, by_lightning, by_fastai):
        began = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            rates = method(task, seed)
        took = time.process_time() - began
        found += [(name, rate if rate and math.isfinite(rate) else None, took) for name, rate in rates.items()]
    return found


def by_traindx(task: Task, seed: int) -> dict[str, float | None]:
    from traindx.probes.base import Deadline
    from traindx.probes.given import subject_of
    from traindx.probes.kinds.lr_range import PROBE

    model, loader = task.start(seed)
    subject = subject_of(model, loader, task.loss, task.optimizer(model.parameters(), lr=1e-3))
    with subject.undisturbed():
        reading = PROBE.measure(subject, Deadline(TIME))
    return {"traindx lr-range": reading.config.get("probe.lr")}


def by_torch_lr_finder(task: Task, seed: int) -> dict[str, float | None]:
    from torch_lr_finder import LRFinder

    model, loader = task.start(seed)
    finder = LRFinder(model, task.optimizer(model.parameters(), lr=1e-7), task.loss)
    finder.range_test(loader, end_lr=10, num_iter=100)
    return {"torch-lr-finder": _or_none(lambda: finder.plot(suggest_lr=True)[1])}


def by_lightning(task: Task, seed: int) -> dict[str, float | None]:
    import lightning.pytorch as pl
    from lightning.pytorch.tuner import Tuner

    model, loader = task.start(seed)

    class Module(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model, self.lr = model, 1e-3

        def training_step(self, batch: Any, index: int) -> torch.Tensor:
            return task.loss(self.model(batch[0]), batch[1])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return task.optimizer(self.parameters(), lr=self.lr)

    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(
            max_epochs=100, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False, default_root_dir=folder,
        )  # fmt: skip
        finder = Tuner(trainer).lr_find(Module(), train_dataloaders=loader)
    return {"Lightning lr_find": _or_none(lambda: finder.suggestion())}


def by_fastai(task: Task, seed: int) -> dict[str, float | None]:
    from fastai.callback.schedule import minimum, steep, valley
    from fastai.data.core import DataLoaders
    from fastai.learner import Learner
    from fastai.optimizer import OptimWrapper

    model, loader = task.start(seed)
    with tempfile.TemporaryDirectory() as folder:
        learner = Learner(
            DataLoaders(loader, loader), model, loss_func=task.loss, path=folder, metrics=[],
            opt_func=lambda groups, lr, **_: OptimWrapper(groups, opt=task.optimizer, lr=lr),
        )  # fmt: skip
        with learner.no_bar():
            found = _or_none(lambda: learner.lr_find(suggest_funcs=(valley, steep, minimum), show_plot=False))
    names = ("fastai valley", "fastai steep", "fastai minimum/10")
    return dict(zip(names, found or (None, None, None), strict=True))


def _or_none(suggest: Callable[[], Any]) -> Any:
    """A package that cannot suggest says so by raising, or by None."""
    try:
        return suggest()
    except Exception:
        return None


if __name__ == "__main__":
    main()
