"""The fix of a page as a diff of the script that was recorded, and only of that one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from traindx.diagnosis import Diagnosis, Hypothesis, Observation, RunSummary
from traindx.fixes import fixes
from traindx.reporters import reporters
from traindx.reporters.patch import changes
from traindx.trials.editing import Evidence, available, edited
from traindx.trials.proposing import in_own_lines
from traindx.trials.setting import combined
from traindx.versions import digest_of

pytestmark = pytest.mark.skipif(not available(), reason="edits need libcst")
SCRIPT = "import torch\n\nmodel = torch.nn.Linear(2, 2)\nfor _ in range(3):\n    pass\n\nopt = torch.optim.{call}\n"


def page_of(folder: Path, call: str, lr: float, fix: str, *seen: str) -> Diagnosis:
    script = folder / "train.py"
    script.write_text(SCRIPT.format(call=call))
    config = {"recording.script": "train.py", "recording.script_digest": digest_of(script), "lr": lr}
    known = {"optimizer": "SGD", "lr": f"{lr:g}", "lower_lr": f"{lr / 10:g}", "higher_lr": f"{lr * 10:g}"}
    proposal = fixes()[fix].proposal(known)
    symptoms = tuple(Observation(one, "present", f"{one} was measured") for one in seen)
    run = RunSummary("train.traindx", "recording", "", 10, (), config)
    first = Hypothesis("lr-too-high", "learning rate too high", 0.9, fix=proposal)
    return Diagnosis("unhealthy", "", run, symptoms, (first,), (), "", "0")


def diff_in(page: Diagnosis) -> str:
    fix = page.hypotheses[0].fix
    assert fix is not None
    return fix.diff


def test_fix_is_a_diff_of_the_users_line(tmp_path: Path) -> None:
    page = in_own_lines(page_of(tmp_path, "SGD(model.parameters(), lr=0.9)", 0.9, "lower-lr"), [tmp_path])
    (change,) = changes(diff_in(page))
    assert change.place == "train.py:7"
    assert change.lines == (
        "- opt = torch.optim.SGD(model.parameters(), lr=0.9)", "+ opt = torch.optim.SGD(model.parameters(), lr=0.09)",
    )  # fmt: skip
    for name in ("text", "md", "issue", "html"):
        assert "lr=0.09)" in reporters()[name].render([page], color=False, width=100), name
    again = Diagnosis.from_json(page.to_json())
    assert diff_in(again) == diff_in(page)


def test_another_script_gets_no_diff(tmp_path: Path) -> None:
    page = page_of(tmp_path, "SGD(model.parameters(), lr=0.9)", 0.9, "lower-lr")
    (tmp_path / "train.py").write_text("# something else\n" + (tmp_path / "train.py").read_text())
    assert diff_in(in_own_lines(page, [tmp_path])) == ""
    assert diff_in(in_own_lines(page, [tmp_path / "elsewhere"])) == ""


def test_rate_that_was_set_on_the_way_is_not_the_optimisers(tmp_path: Path) -> None:
    reset = page_of(tmp_path, "SGD(model.parameters(), lr=0.02)", 0.02, "lower-lr", "spike-at-rate-change")
    assert diff_in(in_own_lines(reset, [tmp_path])) == ""
    fix = reset.hypotheses[0].fix
    assert fix is not None
    higher = replace(reset.hypotheses[0], fix=replace(fix, change="lr=0.09"))  # a tenth of a peak of 0.9
    assert diff_in(in_own_lines(replace(reset, symptoms=(), hypotheses=(higher,)), [tmp_path])) == ""


def test_given_on_the_command_line(tmp_path: Path) -> None:
    page = page_of(tmp_path, "SGD(model.parameters(), lr=0.9)", 0.9, "lower-lr")
    assert diff_in(in_own_lines(page, [tmp_path], ["--lr", "0.9"])) == ""


def test_change_holds_no_number_that_the_run_does_not_tell() -> None:
    assert fixes()["lower-lr"].proposal({}).change == ""
    assert fixes()["add-warmup"].proposal({}).change == ""
    assert fixes()["call-zero-grad"].proposal({}).change == "zero_grad"


def test_hunks_that_only_add_show_where() -> None:
    diff = "--- a/t.py\n+++ b/t.py\n@@ -3,3 +3,4 @@\n     loss.backward()\n+    clip()\n     opt.step()\n"
    (change,) = changes(diff)
    assert (change.place, change.lines) == ("t.py:3", ("  loss.backward()", "+ clip()"))


def test_layers_in_a_plain_list_are_registered(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "from torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        self.blocks = [nn.Linear(2, 2) for _ in range(3)]\n        self.sizes = [2, 3]\n"
    )
    unheld = {"parameters-not-optimized": "2 of 4 parameters; they are not registered in the model"}
    changed = edited(tmp_path, script, combined("all_params"), Evidence(texts=unheld))
    assert changed is not None
    assert "self.blocks = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])" in changed["train.py"]
    assert "self.sizes = [2, 3]" in changed["train.py"]
    assert edited(tmp_path, script, combined("all_params"), Evidence()) is None
