"""One contract suite over every known issue, and how one gets from a log or a recording to the page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from traindx.diagnosis import Diagnosis, KnownIssueNote, Observation
from traindx.engine import diagnose
from traindx.known import installed, known_issues, matching
from traindx.known.base import Example, KnownIssue
from traindx.readers.find import find_runs
from traindx.reporters import html, markdown, text
from traindx.reporters import json as json_reporter
from traindx.run import Event, Run
from traindx.symptoms import symptoms
from traindx.versions import PACKAGES, as_settings, known_versions, meets, split_requirement

ISSUES = pytest.mark.parametrize("issue", known_issues().values(), ids=lambda issue: issue.id)
HEALTHY_SETTINGS = {"lr": 3e-4, "optim": "adamw_torch", "gradient_accumulation_steps": 1, "batch_size": 32}
HEALTHY_LINES = (
    "UserWarning: The given NumPy array is not writable.",
    "FutureWarning: `tokenizer` is deprecated and will be removed in version 5.0.0",
    "Setting `pad_token_id` to `eos_token_id` for open-end generation.",
    "RuntimeError: CUDA error: device-side assert triggered",
)


def shown_by(example: Example, **changes: Any) -> list[KnownIssueNote]:
    """The issues that a run like this shows."""
    example = replace(example, **changes)
    run = Run("a.log", "text", config={**example.settings, **as_settings(example.versions)})
    run.events = [Event("traceback", line) for line in example.lines[-1:]]
    run.said = example.lines[:-1]
    return list(matching(run, [Observation(name, "present", "") for name in example.symptoms]))


def ids(notes: Iterable[KnownIssueNote]) -> list[str]:
    return [note.id for note in notes]


def test_there_are_many_and_each_source_is_a_public_thread() -> None:
    assert len(known_issues()) >= 30
    for issue in known_issues().values():
        assert re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/\d+", issue.source)


@ISSUES
def test_is_written_out(issue: KnownIssue) -> None:
    assert set(issue.packages()) <= PACKAGES, "a package whose version no reader looks for can never match"
    assert issue.happens.endswith(".")
    assert not issue.title.endswith(".")
    assert not issue.shows_if.endswith(".")
    assert set(issue.signature.symptoms) <= set(symptoms())
    assert issue.signature.settings or issue.signature.text or issue.signature.symptoms, "versions alone show nothing"
    assert issue.signature.text or not issue.unmistakable
    for pattern in issue.signature.text:
        assert len(re.sub(r"\W", "", pattern)) >= 6, "too short to be specific"


@ISSUES
def test_its_example_matches_with_the_versions_named(issue: KnownIssue) -> None:
    found = {note.id: note for note in shown_by(issue.example)}
    assert issue.id in found
    assert found[issue.id].certain
    assert set(found[issue.id].versions) <= set(issue.example.versions)


@ISSUES
def test_no_other_issue_matches_its_example(issue: KnownIssue) -> None:
    others = {
        note.id for note in shown_by(issue.example)
        if note.id != issue.id and not set(known_issues()[note.id].signature.text) & set(issue.signature.text)
    }  # fmt: skip
    assert not others


@ISSUES
def test_another_version_does_not_match(issue: KnownIssue) -> None:
    assert issue.id not in ids(shown_by(issue.example, versions=issue.example.outside))


@ISSUES
def test_unknown_versions_match_only_what_is_unmistakable_and_then_with_an_if(issue: KnownIssue) -> None:
    found = {note.id: note for note in shown_by(issue.example, versions={})}
    assert (issue.id in found) is issue.unmistakable
    if issue.unmistakable:
        assert not found[issue.id].certain


@ISSUES
def test_a_missing_part_of_the_signature_does_not_match(issue: KnownIssue) -> None:
    example = issue.example
    for left_out in example.settings:
        rest = {key: value for key, value in example.settings.items() if key != left_out}
        assert issue.id not in ids(shown_by(example, settings=rest))
    for place in range(len(example.lines)):
        assert issue.id not in ids(shown_by(example, lines=example.lines[:place] + example.lines[place + 1 :]))
    if example.symptoms:
        assert issue.id not in ids(shown_by(example, symptoms=()))


@ISSUES
def test_a_healthy_run_of_the_same_versions_does_not_match(issue: KnownIssue) -> None:
    healthy = Example(issue.example.versions, {}, HEALTHY_SETTINGS, HEALTHY_LINES, ("still-improving",))
    assert not shown_by(healthy)
    assert not shown_by(healthy, versions={})


@ISSUES
def test_the_doctor_lists_faults_and_clashes_by_version_alone(issue: KnownIssue) -> None:
    listed = [found.id for found, _ in installed(issue.example.versions)]
    assert (issue.id in listed) is (issue.kind != "changed")
    assert issue.id not in [found.id for found, _ in installed(issue.example.outside)]


@pytest.mark.parametrize(
    ("version", "specifier", "inside"),
    [
        ("4.46.0", ">=4.46", True),
        ("4.46", "==4.46.0", True),
        ("4.46.0.dev0", ">=4.46", False),
        ("4.46.0rc1", "<4.46", False),
        ("4.45.2", "<4.46", True),
        ("2.3.0+cu121", "==2.3.*", True),
        ("2.30.0", "==2.3.*", False),
        ("2.10.0", ">=2.9", True),
        ("0.9.10", "<0.9.2", False),
        ("2.3.0.post1", ">2.3", False),
        ("2.3.1", ">2.3", True),
        ("1.12.0", ">=1.0,<=1.12", True),
        ("5.0.0", "!=5", False),
        ("unknown", ">=1", False),
    ],
)
def test_versions_are_compared_as_pip_does(version: str, specifier: str, inside: bool) -> None:
    assert meets(version, specifier) is inside


def test_a_requirement_is_split_and_its_name_normalised() -> None:
    assert split_requirement("Flash_Attn>=2.0,<3") == ("flash-attn", ">=2.0,<3")


HF_ROWS = "".join(
    f"{{'loss': {2.5 - 0.02 * i:.4f}, 'grad_norm': 0.8, 'learning_rate': 2e-05, 'epoch': {0.1 * i:.1f}}}\n"
    for i in range(40)
)


def log(folder: Path, text: str) -> Run:
    path = folder / "train.log"
    path.write_text(text)
    return find_runs([path])[0]


@pytest.mark.parametrize(
    ("line", "package", "version"),
    [
        ("transformers==4.45.2", "transformers", "4.45.2"),
        ("torch                     2.3.0+cu121", "torch", "2.3.0+cu121"),
        ("- `accelerate` version: 1.4.0", "accelerate", "1.4.0"),
        ("PyTorch version (GPU?): 2.6.0+cu124 (True)", "torch", "2.6.0+cu124"),
        ("- Transformers 4.44.2", "transformers", "4.44.2"),
        ("2026-01-02 10:00:00 INFO deepspeed version: 0.12.6", "deepspeed", "0.12.6"),
        ("Successfully installed bitsandbytes-0.39.0 peft-0.14.0", "bitsandbytes", "0.39.0"),
    ],
)
def test_a_log_states_its_versions(tmp_path: Path, line: str, package: str, version: str) -> None:
    assert known_versions(log(tmp_path, f"{line}\n{HF_ROWS}").config)[package] == version


@pytest.mark.parametrize(
    "line",
    [
        "ImportError: please run pip install transformers==4.41.0",
        "To fix: pip install transformers>=4.41.2,<=4.46.1",
        "this script was tested with torch==2.3.0 and later",
        "transformers==4.45.2\ntransformers==4.46.0",  # two versions: neither is known
    ],
)
def test_a_hint_is_no_statement(tmp_path: Path, line: str) -> None:
    assert not known_versions(log(tmp_path, f"{line}\n{HF_ROWS}").config)


def test_a_model_card_and_a_tools_own_setting_state_versions(tmp_path: Path) -> None:
    card = (
        "# tuned\n\ntransformers 9.9.9 is great\n\n### Framework versions\n\n- Transformers 4.44.2\n- Pytorch "
        "2.4.0+cu121\n"
    )
    (tmp_path / "README.md").write_text(card)
    (tmp_path / "config.json").write_text(json.dumps({"trl_version": "0.13.0", "schema_version": "1.2"}))
    versions = known_versions(log(tmp_path, HF_ROWS).config)
    assert versions == {"transformers": "4.44.2", "torch": "2.4.0+cu121", "trl": "0.13.0"}


def test_wandb_keeps_the_packages_of_a_run(tmp_path: Path) -> None:
    files = tmp_path / "run-20260102_100000-abc123" / "files"
    files.mkdir(parents=True)
    (files / "output.log").write_text(HF_ROWS)
    (files / "requirements.txt").write_text("deepspeed==0.12.6\nleft-pad==1.0\n")
    (files / "wandb-metadata.json").write_text(json.dumps({"python": "CPython 3.12.4"}))
    [run] = find_runs([tmp_path])
    assert known_versions(run.config) == {"deepspeed": "0.12.6", "python": "3.12.4"}


def test_a_recording_notes_the_versions_of_what_was_imported(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    import subprocess
    import sys

    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nmodel = torch.nn.Linear(4, 1)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for _ in range(12):\n    loss = model(torch.randn(8, 4)).square().mean()\n    optimizer.zero_grad()\n"
        "    loss.backward()\n    optimizer.step()\n"
    )
    command = [sys.executable, "-m", "traindx", "run", "--to", str(tmp_path / "r.traindx"), str(script)]
    subprocess.run(command, capture_output=True, cwd=tmp_path)
    [run] = find_runs([tmp_path / "r.traindx"])
    versions = known_versions(run.config)
    assert {"torch", "numpy", "python"} <= set(versions)
    assert versions["python"] == ".".join(map(str, sys.version_info[:3]))


CRASH = """Traceback (most recent call last):
  File "train.py", line 40, in <module>
    trainer.train()
  File "trainer.py", line 2123, in train
    return inner_training_loop(
TypeError: Accelerator.unwrap_model() got an unexpected keyword argument 'keep_torch_compile'
"""


def page_of(folder: Path, text: str) -> Diagnosis:
    return diagnose(log(folder, text))


def test_a_crash_with_its_versions_is_named_on_every_page(tmp_path: Path) -> None:
    page = page_of(tmp_path, f"transformers==4.52.4\naccelerate==1.0.1\n{HF_ROWS}{CRASH}")
    [note] = page.known_issues
    assert note.id == "accelerate-without-keep-torch-compile"
    assert note.versions == {"transformers": "4.52.4", "accelerate": "1.0.1"}
    for shown in (
        text.render([page], color=False, width=100),
        markdown.render([page], color=False, width=100),
        html.render([page], color=False, width=100),
    ):
        words = " ".join(shown.split())
        assert "transformers 4.52.4, accelerate 1.0.1: this transformers needs accelerate 1.3" in words
        assert note.source in words
    document = json.loads(json_reporter.render([page], color=False, width=100))
    assert document["schema"] == "traindx.diagnosis/1"
    assert document["known_issues"][0]["versions"] == {"transformers": "4.52.4", "accelerate": "1.0.1"}
    assert Diagnosis.from_json(document).known_issues == page.known_issues


def test_the_same_crash_without_versions_says_if(tmp_path: Path) -> None:
    page = page_of(tmp_path, HF_ROWS + CRASH)
    [note] = page.known_issues
    assert not note.certain
    assert "If you use transformers>=4.52 and accelerate<1.3" in " ".join(
        text.render([page], color=False, width=100).split()
    )


def test_an_older_page_without_the_list_is_still_read(tmp_path: Path) -> None:
    document = page_of(tmp_path, HF_ROWS).to_json()
    assert document.pop("known_issues") == []
    assert Diagnosis.from_json(document).known_issues == ()


def test_a_known_issue_moves_no_probability(tmp_path: Path) -> None:
    with_it = page_of(tmp_path, f"deepspeed==0.14.3\n{HF_ROWS}{CRASH}")
    without = page_of(tmp_path, f"deepspeed==0.14.2\naccelerate==1.7.0\n{HF_ROWS}{CRASH}")
    assert with_it.known_issues
    assert not without.known_issues
    assert with_it.hypotheses == without.hypotheses


def test_a_warning_that_is_no_event_is_heard(tmp_path: Path) -> None:
    line = "A module that was compiled using NumPy 1.x cannot be run in"
    run = log(tmp_path, f"torch==2.2.2\nnumpy==2.0.1\n{line}\nNumPy 2.0.1 as it may crash.\n{HF_ROWS}")
    assert ids(diagnose(run).known_issues) == ["torch-built-for-numpy-1"]
