"""Several ranks: one recording and one diagnosis, faults that only a comparison of the ranks shows, and guest
manners."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import textwrap
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch

from runs import run_of
from traindx.diagnosis import Observation
from traindx.engine import diagnose
from traindx.live.events.hub import Hub
from traindx.live.instruments import observers
from traindx.live.recording.store import Store, shared_folder
from traindx.measurements import RankLayout, RankStep
from traindx.readers.find import find_runs
from traindx.run import Run
from traindx.signals import Signals
from traindx.symptoms import symptoms

TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2")
CASES = ("ddp", "fsdp", "bypassed", "changed", "unwrapped", "slow data", "slow code", "same data")


def call(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The recordings of all cases, and what the ranks printed."""
    folder = tmp_path_factory.mktemp("cases")
    result = call(folder, *TORCHRUN, "--no-python", "env", "TRAINDX_DEBUG=1", sys.executable,
                  str(Path(__file__).parent / "distributed_cases.py"), *CASES)  # fmt: skip
    assert result.returncode == 0, result.stderr
    return folder, result.stdout


def recorded(cases: tuple[Path, str], case: str) -> Run:
    (run,) = find_runs([cases[0] / f"{case}.traindx"])
    return run


def seen(run: Run, identifier: str) -> Observation:
    return symptoms()[identifier].detect(Signals(run))


@pytest.mark.parametrize("case", ["ddp", "fsdp"])
def test_training_on_two_ranks_is_bit_identical_with_one_healthy_diagnosis(cases: tuple[Path, str], case: str) -> None:
    assert f"{case}: identical on 2 ranks" in cases[1]
    run = recorded(cases, case)
    assert run.config["world_size"] == 2
    assert len(run.series["train_loss"]) == 80
    assert diagnose(run).verdict == "healthy"
    assert seen(run, "same-data-on-ranks").state == "absent"
    # shards are never compared
    assert seen(run, "replica-mismatch").state == ("absent" if case == "ddp" else "unknown")


@pytest.mark.parametrize(
    ("case", "step", "where"), [("bypassed", 1, "0.weight"), ("changed", 30, "3.bias"), ("unwrapped", 1, "0.weight")]
)
def test_replicas_that_drift_apart_are_told_with_step_and_parameter(
    cases: tuple[Path, str], case: str, step: int, where: str
) -> None:
    run = recorded(cases, case)
    found = seen(run, "replica-mismatch")
    assert (found.state, found.steps, found.where) == ("present", (step, step), where)
    assert diagnose(run).hypotheses[0].cause == "replicas-diverge"


@pytest.mark.parametrize(("case", "rank", "spent"), [("slow data", 1, "its data"), ("slow code", 0, "forward pass")])
def test_a_straggler_is_named_with_what_it_spends_its_time_on(
    cases: tuple[Path, str], case: str, rank: int, spent: str
) -> None:
    run = recorded(cases, case)
    found = seen(run, "slow-rank")
    assert found.state == "present"
    assert found.where == f"rank {rank}"
    assert spent in found.evidence
    assert seen(run, "replica-mismatch").state == "absent"
    assert diagnose(run).hypotheses[0].cause == "straggler-rank"


def test_the_same_batches_on_every_rank_are_told(cases: tuple[Path, str]) -> None:
    run = recorded(cases, "same data")
    assert seen(run, "same-data-on-ranks").state == "present"
    assert diagnose(run).hypotheses[0].cause == "data-not-distributed"


# --- as a user runs it ------------------------------------------------------------------------------------------------

DDP = """
import os, sys, time, torch, torch.distributed as dist

class Loud:
    def __del__(self, write=os.write):
        write(1, b"freed\\n")

def train(rank, world=2, broken=False):
    if world:
        dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/meeting", rank=rank, world_size=world)
    else:
        dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = torch.nn.Linear(8, 2)
    net.loud = Loud()
    model = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    torch.manual_seed(rank)
    x = torch.randn(256, 8)
    data = torch.utils.data.TensorDataset(x, (x.sum(1) > 0).long())
    loader = torch.utils.data.DataLoader(data, batch_size=32, num_workers=int(bool(world)), persistent_workers=bool(world))
    for epoch in range(10):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
        if broken and rank == 1 and epoch == 5:
            raise ValueError("of rank one")
    total = sum(p.double().sum().item() for p in model.parameters())
    os.write(1, f"{rank} {loss.item()!r} {total!r}\\n".encode())
    dist.destroy_process_group()
    # a thread of gloo may need the interpreter's lock once more: a script that ends at once aborts now and then,
    # watched or not
    time.sleep(0.1)
    return model
"""  # noqa: E501


def script(folder: Path, name: str, end: str) -> str:
    (folder / name).write_text(textwrap.dedent(DDP) + textwrap.dedent(end))
    return name


def ranks_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.jsonl"))


def test_torchrun_gives_one_recording_and_leaves_the_model_to_the_script(tmp_path: Path) -> None:
    name = script(tmp_path, "ddp.py", "model = train(0, world=0)")
    result = call(tmp_path, sys.executable, "-m", "traindx", "run", "--json", "page.json", "--", *TORCHRUN, name)
    assert result.returncode == 0, result.stderr
    assert sorted(line.split()[0] for line in result.stdout.splitlines()) == ["0", "1", "freed", "freed"]
    assert ranks_in(tmp_path / "ddp.traindx") == ["rank-0.jsonl", "rank-1.jsonl"]
    page = json.loads((tmp_path / "page.json").read_text())
    assert page["verdict"] == "healthy"


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_ranks_that_the_script_starts_itself_are_recorded_and_their_workers_are_not(
    tmp_path: Path, method: str
) -> None:
    broken = method == "fork"
    end = f"""
    if __name__ == "__main__":
        torch.multiprocessing.start_processes(train, args=(2, {broken}), nprocs=2, start_method={method!r})
    """
    result = call(tmp_path, sys.executable, "-m", "traindx", "run", script(tmp_path, "own.py", end))
    recording = tmp_path / "own.traindx"
    assert ranks_in(recording) == ["rank-0.jsonl", "rank-1.jsonl"]
    assert [one.name for one in recording.glob("*/")] == ["source"]  # no recordings of its workers
    (run,) = find_runs([recording])
    assert run.config["world_size"] == 2
    if broken:
        assert result.returncode == 1
        assert any("rank 1: ValueError: of rank one" in event.text for event in run.events)
    else:
        assert result.returncode == 0, result.stderr
        assert len(run.series["train_loss"]) == 80
        assert seen(run, "replica-mismatch").state == "absent"


def test_accelerate_launch_gives_one_recording(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    name = script(tmp_path, "ddp.py", "model = train(0, world=0)")
    # the launcher has torchrun start several processes only where it is told of several GPUs; the script uses none
    options = "--multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no"
    command = (sys.executable, "-m", "accelerate.commands.launch", *options.split(), name)
    result = call(tmp_path, sys.executable, "-m", "traindx", "run", "--", *command)
    assert result.returncode == 0, result.stderr
    assert ranks_in(tmp_path / "ddp.traindx") == ["rank-0.jsonl", "rank-1.jsonl"]


# --- guest manners ----------------------------------------------------------------------------------------------------


def test_the_end_of_the_recording_lets_go_of_everything_of_the_user(tmp_path: Path) -> None:
    hub = Hub(lambda: Store(tmp_path / "r.traindx"), list(observers().values()), 1.0, None)
    hub.attach()
    kept = torch.nn.functional.cross_entropy  # patched, and held beyond the end as torch.compile's tables do
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(), torch.nn.Linear(8, 2)
    )
    optimizer = torch.optim.Adam(model.parameters())
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 4), torch.arange(64) % 2), 16)
    for _ in range(5):
        for inputs, labels in loader:
            optimizer.zero_grad()
            kept(model(inputs), labels).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        with torch.no_grad():
            kept(model.eval()(inputs), labels)
        model.train()
    users = [weakref.ref(one) for one in (model, optimizer, loader, loader.dataset, model[0].weight)]
    del model, optimizer, loader
    hub.detach()
    gc.collect()
    assert [one() for one in users] == [None] * len(users)
    assert float(kept(torch.zeros(1, 2), torch.zeros(1, dtype=torch.long))) == pytest.approx(np.log(2))


def test_trainings_side_by_side_are_recorded_apart(tmp_path: Path) -> None:
    stores = [Store(tmp_path / "r.traindx") for _ in range(2)]
    for number, store in enumerate(stores):
        store.line("meta", schema="traindx.recording/2", argv=["train.py"], rank=0, world=1)
        for step in range(20):
            store.row(step, {"train_loss": 1.0 / (step + 1) + number})
        store.close()
    assert [run.series["train_loss"].values[0] for run in find_runs([tmp_path / "r.traindx"])] == [1.0, 2.0]


def test_ranks_find_the_same_directory_without_talking(tmp_path: Path) -> None:
    wanted = tmp_path / "watch.traindx"
    for _ in range(2):
        folders = []
        for rank in (1, 0):
            folders.append(shared_folder(wanted, rank, 2))
            store = Store(folders[-1], rank)
            store.line("meta", schema="traindx.recording/2", rank=rank, world=2)
            store.close()
        assert len(set(folders)) == 1
    assert folders[0].name == "watch-2.traindx"
    assert shared_folder(wanted, 2, 3).name == "watch-3.traindx"


# --- the comparison itself --------------------------------------------------------------------------------------------


def layouts(count: int, spread: str = "replicated", names: tuple[str, ...] = ("a", "b")) -> list[RankLayout]:
    return [RankLayout(rank=rank, spread=spread, names=names) for rank in range(count)]


def look(rank: int, step: int, sums: tuple[float, ...] = (1.0, 2.0), own: float = 0.005, host: bool = True) -> RankStep:
    return RankStep(
        rank=rank, step=step, sums=sums, norms=(1.0,) * len(sums), target=float(step * 10 + rank), loss=0.5, steps=step,
        whole=0.05 * step, own=own * step, waited=0.001 * step, host=host,
    )  # fmt: skip


STEPS = range(0, 60, 4)


def test_replicas_that_come_together_again_are_no_mismatch() -> None:
    looks = [look(rank, step, (1.0, 2.0 + 0.1 * rank * (step % 12 == 8))) for step in STEPS for rank in range(2)]
    assert seen(run_of({}, measured=[*layouts(2), *looks]), "replica-mismatch").state == "unknown"


def test_the_odd_rank_of_many_is_named() -> None:
    looks = [
        look(rank, step, (1.0, 2.0 + 0.1 * (rank == 3) * (step >= 20)), own=0.03 if rank == 3 else 0.005)
        for step in STEPS
        for rank in range(5)
    ]
    run = run_of({}, measured=[*layouts(5), *looks])
    assert "rank 3" in seen(run, "replica-mismatch").evidence
    assert seen(run, "replica-mismatch").steps == (20, 20)
    assert seen(run, "slow-rank").where == "rank 3"


def test_turns_of_being_slow_are_no_straggler() -> None:
    looks, own = [], [0.0, 0.0]
    for index, step in enumerate(STEPS):
        for rank in range(2):
            own[rank] += 4 * (0.04 if (index + rank) % 2 else 0.005)
            looks.append(look(rank, step, (), own=own[rank] / max(step, 1)))
    assert seen(run_of({}, measured=[*layouts(2, names=()), *looks]), "slow-rank").state != "present"


def test_fingerprints_of_other_parameters_are_not_compared() -> None:
    early = [look(rank, step, (1.0, 2.0 + rank)) for step in range(8) for rank in range(2)]
    later = [RankLayout(rank=rank, spread="replicated", names=("a",), step=8) for rank in range(2)]
    looks = [look(rank, step, (1.0,)) for step in range(8, 20) for rank in range(2)]
    assert seen(run_of({}, measured=[*layouts(2), *early, *later, *looks]), "replica-mismatch").state == "absent"
