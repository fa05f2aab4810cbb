"""Executors: every item comes back exactly once, whatever happens to the workers."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from traindx.errors import TraindxError
from traindx.executors import Lost, executor_for
from traindx.executors.local import Local


def square(value: int) -> int:
    print("talk in the work is no answer")
    if value == 7:
        raise ValueError("seven")
    return value * value


def die_once(value: int, folder: Path) -> int:
    mark = folder / str(value)
    if value % 5 == 0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def slowly(value: int) -> int:
    time.sleep(0.3)
    return value


def always_die(value: int) -> int:
    if value == 3:
        os._exit(9)
    return value


@pytest.mark.parametrize("workers", [1, 2])
def test_local_gives_every_result_and_names_what_failed(workers: int) -> None:
    results = dict(Local(workers).map(square, range(12)))
    assert results.pop(7) == Lost("ValueError: seven")
    assert results == {value: value * value for value in range(12) if value != 7}


def test_a_killed_worker_loses_no_item(tmp_path: Path) -> None:
    results = dict(Local(2).map(partial(die_once, folder=tmp_path), range(12)))
    assert results == {value: value for value in range(12)}


def test_an_item_that_kills_every_worker_is_given_up_alone() -> None:
    results = dict(Local(2).map(always_die, range(8)))
    assert isinstance(results.pop(3), Lost)
    assert results == {value: value for value in range(8) if value != 3}


def test_abandoning_the_results_ends_the_workers() -> None:
    results = Local(2).map(square, range(200))
    next(iter(results))
    results.close()  # type: ignore[attr-defined]


def test_an_unknown_executor_is_refused() -> None:
    with pytest.raises(TraindxError, match="no executor called"):
        executor_for("cloud")


def test_ray_gives_the_same_results_and_loses_nothing_to_a_killed_worker(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])  # the workers must find this module and ours
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": paths}})
    try:
        ray_results = dict(executor_for("ray").map(square, range(30)))
        assert ray_results == dict(Local(1).map(square, range(30)))
        killed = dict(executor_for("ray").map(partial(die_once, folder=tmp_path), range(12)))
        assert killed == {value: value for value in range(12)}
        poison = dict(executor_for("ray").map(always_die, range(10)))
        assert isinstance(poison.pop(3), Lost)
        assert poison == {value: value for value in range(10) if value != 3}
    finally:
        ray.shutdown()


def test_a_machine_without_slurm_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TraindxError, match="has no srun"):
        executor_for("slurm")


def test_slurm_gives_every_result_and_names_what_failed(tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    from traindx.executors.slurm import Slurm

    results = dict(Slurm(tmp_path / "jobs", cluster="local").map(math.sqrt, [4.0, -1.0]))
    assert results[0] == 2
    assert isinstance(results[1], Lost)
    assert "ValueError" in results[1].reason


def test_a_killed_node_of_a_ray_cluster_loses_no_item() -> None:
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    node = cluster.add_node(num_cpus=2)
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    ray.init(address=cluster.address, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": paths}})
    try:
        cluster.wait_for_nodes()
        threading.Timer(4, cluster.remove_node, (node,), {"allow_graceful": False}).start()
        assert dict(executor_for("ray").map(slowly, range(60))) == {value: value for value in range(60)}
    finally:
        ray.shutdown()
        cluster.shutdown()
