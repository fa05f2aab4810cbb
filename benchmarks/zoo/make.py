"""Makes the zoo: trains every specimen under the recorder and keeps what each level of evidence shows.

    python benchmarks/zoo/make.py OUT [--count 4000] [--seed 0] [--jobs 2] [--probes 0.15] [--seconds 0]

OUT gets one JSON line a specimen in results.jsonl; what is there already is not made again, so a stopped sweep goes on
where it was. Each line holds the labels, the honest outcome of the training and of its healthy twin, and the
observations from the curve alone (metrics.csv, which the line holds as well), from the live recording, and, for a share
of the specimens, from the probes too. `--keep DIR` keeps the recordings."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TRAINDX_CASES", "off")

import numpy as np
import torch
from evidence import evidence
from plan import Spec, build, of_degree, plan
from setup import Setup
from torch import nn
from training import fresh_model, make_optimizer, train

sys.path.append(str(Path(__file__).resolve().parents[1]))
from peers.tools import curves
from traindx.causes import causes
from traindx.fixes import fixes
from traindx.live.events.hub import Hub
from traindx.live.instruments import observers
from traindx.live.outside.watching import Watch
from traindx.probes.kinds import probes
from traindx.probes.python import probe, run_of
from traindx.readers.find import find_runs
from traindx.run import Run
from traindx.symptoms import symptoms

LIMIT = 120  # seconds a specimen may take
QUICK_PROBES = ("sanity", "gradients", "activations", "lr-range")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--probes", type=float, default=0.15, help="share of the specimens that are probed too")
    parser.add_argument("--seconds", type=float, default=0, help="stop beginning new ones after so long; 0: never")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="names or causes")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    _load()
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = arguments.out / "results.jsonl"
    done = (
        {json.loads(line)["spec"]["name"] for line in results.read_text().splitlines()} if results.exists() else set()
    )
    specs = [spec for spec in plan(arguments.count, arguments.seed) if spec.name not in done]
    if arguments.only:
        specs = [
            s
            for s in specs
            if s.name in arguments.only or set(s.causes) & set(arguments.only) or s.variant in arguments.only
        ]
    sweep(specs, results, arguments)


def _load() -> None:
    """Import once what every child needs."""
    for collect in (symptoms, causes, fixes, probes, observers):
        collect()


def sweep(specs: list[Spec], results: Path, arguments: argparse.Namespace) -> None:
    """A process for each specimen, forked from this one, which has torch loaded already."""
    began = time.monotonic()
    running: dict[int, tuple[float, Path]] = {}
    waiting = list(reversed(specs))
    finished = 0
    with tempfile.TemporaryDirectory(prefix="zoo-") as scratch, results.open("a") as out:
        while waiting or running:
            late = arguments.seconds and time.monotonic() - began > arguments.seconds
            while waiting and len(running) < arguments.jobs and not late:
                spec = waiting.pop()
                folder = Path(scratch) / spec.name
                child = os.fork()
                if child == 0:
                    _child(spec, folder, arguments)
                running[child] = (time.monotonic(), folder)
            if not running:
                break
            child, _ = os.waitpid(-1, os.WNOHANG)
            if child:
                _, folder = running.pop(child)
                line = folder / "result.json"
                out.write(
                    (line.read_text() if line.exists() else json.dumps({"spec": {"name": folder.name}, "failed": True}))
                    + "\n"
                )
                out.flush()
                shutil.rmtree(folder, ignore_errors=True)
                finished += 1
                if finished % 100 == 0:
                    print(
                        f"{finished} of {len(specs)} in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True
                    )
            else:
                for pid, (start, _) in running.items():
                    if time.monotonic() - start > LIMIT:
                        os.kill(pid, signal.SIGKILL)
                time.sleep(0.005)


def _child(spec: Spec, folder: Path, arguments: argparse.Namespace) -> None:
    """Never returns. What goes wrong leaves no result, which the sweep counts as failed."""
    code = 1
    try:
        folder.mkdir()
        os.chdir(folder)
        quiet = io.StringIO()
        with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
            probed = (zlib.crc32(spec.name.encode()) % 1000) / 1000 < arguments.probes
            result = specimen(spec, folder, probed)
        if arguments.keep:
            shutil.move(folder / "run.traindx", arguments.keep / f"{spec.name}.traindx")
        (folder / "result.json").write_text(json.dumps(result))
        code = 0
    except BaseException as error:
        if os.environ.get("ZOO_DEBUG"):
            import traceback

            traceback.print_exc(file=sys.__stderr__)
        else:
            print(f"{spec.name} {spec.causes} {spec.task}: {type(error).__name__}: {error}", file=sys.__stderr__)
    finally:
        sys.__stderr__.flush()  # type: ignore[union-attr]
        os._exit(code)


class Glance(Watch):
    """A look at a training that is still running, so that its length says nothing."""

    def start(self) -> Hub:
        hub = super().start()
        hub.cut_short = True
        return hub


def specimen(spec: Spec, folder: Path, probed: bool) -> dict[str, Any]:
    """Train it and its twin and collect the evidence."""
    setup, twin, alternatives = build(spec)
    model = _pretrained(setup, spec)
    spare = torch.get_rng_state()
    watch = (Watch if setup.steps is None else Glance)(to=folder / "run.traindx")
    outcome = train(setup, folder / "log", model=model, watch=watch)
    recording = find_runs([watch.folder])[0]
    twin_outcome = outcome
    if spec.causes:
        torch.set_rng_state(spare)
        twin_outcome = train(twin, folder / "twin", model=_pretrained(twin, spec))
    levels = {"curve": evidence(find_runs([folder / "log"])[0]), "live": evidence(recording)}
    if probed:
        levels["probes"] = evidence(_with_probes(setup, spec, find_runs([watch.folder])[0]))
    return {
        "spec": spec.to_json(), "alternatives": alternatives, "degree": of_degree(spec.causes), "told": setup.told,
        "outcome": vars(outcome), "twin": vars(twin_outcome), "levels": levels, "trace": trace(recording, setup),
        "log": {path.name: path.read_text() for path in sorted((folder / "log").iterdir())},
    }  # fmt: skip


def _pretrained(setup: Setup, spec: Spec) -> nn.Module:
    model = fresh_model(setup)
    if not setup.pretrained:
        return model
    optimizer = make_optimizer(setup, model)
    model.train()
    for epoch in range(setup.pretrained):
        order = torch.randperm(setup.count, generator=torch.Generator().manual_seed(spec.seed + epoch))
        for start in range(0, setup.count, setup.batch):
            index = order[start : start + setup.batch]
            optimizer.zero_grad()
            setup.loss(model(setup.train[0][index]), setup.train[1][index]).backward()
            optimizer.step()
    return model


def _with_probes(setup: Setup, spec: Spec, run: Run) -> Run:
    """The recording and what probes of the untrained model add to it, as `--add-to` does."""
    model = _pretrained(setup, spec)
    model.train(setup.train_mode)
    optimizer = make_optimizer(setup, model)
    inputs, targets = (t.to(setup.precision) if setup.precision and t.is_floating_point() else t for t in setup.train)
    pairs = [
        (inputs[i : i + setup.batch], targets[i : i + setup.batch])
        for i in range(0, min(setup.count, 8 * setup.batch), setup.batch)
    ]
    probing = probe(
        model, pairs, lambda output, target: setup.loss(output, target), optimizer, probes=QUICK_PROBES, seconds=15
    )
    added = run_of(list(probing.readings.values()), "probe")
    for identifier, fact in added.facts.items():
        before = run.facts.get(identifier)
        if before is None or (fact.present and not before.present):
            run.facts[identifier] = fact
    run.probed = added.probed
    run.add_config(added.config)
    return run


def trace(run: Run, setup: Setup) -> dict[str, Any]:
    """What other tools ask for, thinned: losses, gradient norm, learning rate, a number a layer, the range of the
    inputs."""
    kept: dict[str, Any] = {"batch": setup.batch, "rate": setup.lr, "optimizer": setup.optimizer, "layers": {}}
    kept["inputs"] = [run.config.get("input_min"), run.config.get("input_max")]
    kept |= curves(run)
    for kind in ("grad_norm", "dead", "saturated", "update_ratio"):
        found = {name.split("/", 1)[1]: s for name, s in run.series.items() if name.startswith(f"{kind}/") and len(s)}
        kept["layers"][kind] = {
            name: float(f"{np.nanmedian(s.values):.4g}") for name, s in found.items() if np.isfinite(s.values).any()
        }
    return kept


if __name__ == "__main__":
    main()
