"""The wheel is the same whenever it is built and lists what it holds; the lock names what the tests run with."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    pytest.importorskip("hatchling")
    built = []
    for name, zone in (("one", "UTC"), ("two", "Asia/Tokyo")):
        place = tmp_path_factory.mktemp(name)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "TZ": zone}
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=120)
        built += place.glob("*.whl")
    return built


def test_two_builds_are_one(wheels: list[Path]) -> None:
    one, two = (hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels)
    assert one == two


def test_the_wheel_lists_what_it_holds(wheels: list[Path]) -> None:
    with zipfile.ZipFile(wheels[0]) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".cdx.json")]
        bill = json.loads(archive.read(name))
        listed = {one["name"]: one["hashes"][0]["content"] for one in bill["components"] if one["type"] == "file"}
        held = [name for name in archive.namelist() if name.startswith("traindx/")]
        assert set(held) == set(listed)
        assert hashlib.sha256(archive.read("traindx/version.py")).hexdigest() == listed["traindx/version.py"]


def test_the_lock_names_every_need() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    locked = {
        line.partition("==")[0] for line in (ROOT / "requirements-dev.lock").read_text().splitlines() if "==" in line
    }
    every = [*told["project"]["dependencies"], *told["dependency-groups"]["dev"]]
    needs = {need.partition(">")[0].partition("=")[0].lower() for need in every}
    assert needs <= locked
    assert all("<" in need for need in told["project"]["dependencies"])


def test_the_scheduled_job_tries_the_newest_and_several_versions_of_torch() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "scheduled.yml").read_text("utf-8"))["jobs"]
    assert len(jobs["torch"]["strategy"]["matrix"]["torch"]) >= 3
    assert "newest" in jobs
