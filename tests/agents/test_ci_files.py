"""The GitHub Action and the pre-commit hooks: their commands really run and exit as promised."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from traindx.cli import app

ROOT = Path(__file__).parents[2]


def action() -> dict[str, Any]:
    whole: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    return whole


# a fake GitHub command that keeps what it is asked to post
_GH = (
    '#!/bin/sh\necho "$@" > "$0.asked"\nwhile [ $# -gt 1 ]; do [ "$1" = --body-file ] && cp "$2" "$0.posted"; '
    "shift; done\n"
)


@pytest.mark.parametrize(
    ("example", "fail_on", "code"), [("sick", "unhealthy", 1), ("sick", "never", 0), ("healthy", "unhealthy", 0)]
)
def test_the_step_of_the_action_annotates_summarises_and_fails_on_a_problem(
    tmp_path: Path, example: str, fail_on: str, code: int
) -> None:
    step = next(step for step in action()["runs"]["steps"] if step.get("id") == "diagnose")
    command = tmp_path / "traindx"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m traindx "$@"\n')
    command.chmod(0o755)
    (tmp_path / "gh").write_text(_GH)
    (tmp_path / "gh").chmod(0o755)
    given = {
        "PATHS": f"\n{ROOT / 'examples' / example}\n", "OPTIONS": "--classes 10", "SARIF": str(tmp_path / "out.sarif"),
        "FAIL_ON": fail_on, "COMMENT": "true", "NUMBER": "7", "REPOSITORY": "me/mine", "GH_TOKEN": "none",
    }  # fmt: skip
    assert set(step["env"]) == set(given)
    environment = {
        **os.environ, **given, "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "GITHUB_OUTPUT": str(tmp_path / "output"),
        "RUNNER_TEMP": str(tmp_path),
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]], env=environment, capture_output=True, text=True, timeout=180
    )
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith("::error " if example == "sick" else "::notice ")
    assert (tmp_path / "summary.md").read_text().startswith("## traindx: ")
    assert (tmp_path / "out.sarif").is_file()
    assert (tmp_path / "output").read_text() == f"problem={'true' if example == 'sick' else 'false'}\n"
    assert (tmp_path / "gh.posted").exists() is (example == "sick")
    if example == "sick":
        assert (tmp_path / "gh.posted").read_text().startswith("**traindx: UNHEALTHY**")
        assert (tmp_path / "gh.asked").read_text().startswith("pr comment 7 --repo me/mine ")


def test_inputs_reach_the_shell_only_through_the_environment() -> None:
    whole = action()
    assert whole["runs"]["using"] == "composite"
    assert not any("${{" in step["run"] for step in whole["runs"]["steps"])
    used = re.findall(r"inputs\.([a-z-]+)", (ROOT / "action.yml").read_text("utf-8"))
    assert set(used) == set(whole["inputs"])


def test_hooks_name_commands_that_exist_and_match_the_files_they_are_for() -> None:
    known = {command.name for command in app.registered_commands}
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    assert all(set(re.findall(r"traindx (\w+)", hook["entry"])) <= known for hook in hooks.values())
    logs, scripts = (re.compile(hooks[name]["files"]) for name in ("traindx-diagnose", "traindx-sanity"))
    assert logs.search("runs/exp1/metrics.csv")
    assert not logs.search("data/prices.csv")
    assert scripts.search("src/train_mlp.py")
    assert not scripts.search("src/constrain.py")


def test_the_sanity_hook_tries_every_script_by_itself(tmp_path: Path) -> None:
    (hook,) = (
        hook
        for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
        if hook["id"] == "traindx-sanity"
    )
    command = tmp_path / "traindx"
    command.write_text('#!/bin/sh\necho "$@"\ntest "$2" != "train b.py"\n')
    command.chmod(0o755)
    done = subprocess.run(
        [*shlex.split(hook["entry"]), "train_a.py", "train b.py", "train_c.py"], capture_output=True, text=True,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout.splitlines() == ["sanity train_a.py", "sanity train b.py", "sanity train_c.py"]


def test_the_project_has_one_address() -> None:
    """Nothing is published yet: OWNER stands for the account, everywhere or nowhere."""
    named = {"docs/ci.md", "docs/agents.md", "server.json", "README.md"}
    found = re.compile(r"(?:uses: |github\.com/|io\.github\.|marketplace add )([\w-]+)/traindx\b")
    owners = {name: set(found.findall((ROOT / name).read_text("utf-8"))) for name in named}
    assert all(owners.values()), owners
    assert len(set.union(*owners.values())) == 1, owners
