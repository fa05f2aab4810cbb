"""The three workflows people give their agents for failing trainings, end to end with a real client over a pipe: an
interview that ends in a proven fix, a diagnosis before any tuning, and a systematic search through probes and
comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from talking import piped, said

EXAMPLES = Path(__file__).parents[2] / "examples"
HOT = """
import torch
torch.manual_seed(0)
x = torch.randn(64, 8)
y = (x @ torch.randn(8, 1)).tanh()
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=LR)
for step in range(120):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
"""
FROZEN = """
import torch
torch.manual_seed(0)
x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-8)
for step in range(60):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


def structure(result: Any) -> Any:
    assert not result.is_error, said(result)
    return result.structured_content


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("sick", "healthy"):
        (tmp_path / f"{name}.csv").write_text((EXAMPLES / name / "metrics.csv").read_text())
    (tmp_path / "hot.py").write_text(HOT.replace("LR", "30.0"))
    (tmp_path / "frozen.py").write_text(FROZEN)
    return tmp_path


def test_from_what_the_user_sees_to_a_fix_that_is_proven(root: Path) -> None:
    """Symptoms, information, ranked hypotheses with confidence and evidence, a fix, a short run that validates it."""

    async def talk(client: Client) -> tuple[Any, Any, Any]:
        asked = structure(await client.call_tool("ask", {"says": "the loss explodes", "path": "sick.csv"}))
        while asked["question"] is not None:
            answers = {asked["question"]["id"]: None}
            asked = structure(await client.call_tool("ask", {"session": asked["session"], "answers": answers}))
        cause = asked["diagnosis"]["hypotheses"][0]["cause"]
        page = structure(await client.call_tool("explain", {"id": cause}))
        limits = {"steps": 60, "seconds": 120, "budget": 600, "seeds": 2}
        proof = await client.call_tool("trial", {"path": "hot.py", "change": ["lr=x0.001"], **limits})
        return asked, page, structure(proof)

    asked, page, proof = piped([root], talk)
    assert asked["diagnosis"]["verdict"] == "unhealthy"
    assert sum(cause["confidence"] for cause in asked["diagnosis"]["hypotheses"]) <= 1.01
    assert "What NOT to do" in page["markdown"]
    assert [trial["verdict"] for trial in proof["trials"]] == ["helped"]


def test_a_cause_before_any_tuning(root: Path) -> None:
    """What users blame is answered with what it usually is; the loop is measured; the answer says what not to do."""

    async def talk(client: Client) -> tuple[Any, Any, Any]:
        blamed = structure(await client.call_tool("ask", {"says": "I need a different optimizer"}))
        said_so = structure(await client.call_tool("explain", {"id": "need different optimizer"}))
        probed = await client.call_tool("probe", {"path": "frozen.py", "kind": "sanity", "seconds": 120})
        return blamed, said_so, structure(probed)

    blamed, said_so, probed = piped([root], talk)
    assert [reply["kind"] for reply in blamed["replies"]] == ["misdiagnosis"]
    assert "usually" in said_so["markdown"]
    first = probed["diagnosis"]["hypotheses"][0]
    assert first["cause"] == "lr-too-low"
    assert first["do_not"]
    assert any(line.startswith("batch-barely-moves") for line in probed["readings"][0]["found"])


def test_evidence_hypotheses_experiment_and_validation(root: Path) -> None:
    """Gather evidence, characterise symptoms, rank causes, compare with a baseline, and know what was not measured."""

    async def talk(client: Client) -> tuple[Any, Any, Any]:
        found = structure(await client.call_tool("diagnose", {"path": "."}))
        symptom = found["runs"][0]["symptoms"][0]["id"]
        page = await client.read_resource(f"traindx://symptom/{symptom}")
        compared = structure(await client.call_tool("compare", {"path": "sick.csv", "others": ["healthy.csv"]}))
        return found, page.contents[0], compared

    found, page, compared = piped([root], talk)
    assert [run["verdict"] for run in found["runs"]] == ["unhealthy", "healthy"]
    assert found["runs"][0]["not_measured"] > 0
    assert "Causes that show it" in page.text
    assert compared["change"]["verdict"] == "helped"
    assert set(compared["change"]["cleared"]) >= {symptom["id"] for symptom in found["runs"][0]["symptoms"][:1]}


def test_a_patch_is_judged_and_what_still_fails_is_said(root: Path) -> None:
    """An agent writes a patch; the tool says whether it is proven, and what is left to do where it is not."""
    diff = "--- a/hot.py\n+++ b/hot.py\n@@ -7 +7 @@\n-{old}\n+{new}\n"
    old = next(line for line in (root / "hot.py").read_text().splitlines() if "SGD" in line)

    async def talk(client: Client) -> tuple[Any, Any, Any]:
        limits = {"steps": 60, "seconds": 120, "budget": 600, "seeds": 2}
        proofs = []
        for new in (old.replace("lr=30.0", "lr=0.03"), f"{old}  # hot"):
            patch = diff.format(old=old, new=new)
            proofs.append(structure(await client.call_tool("prove", {"path": "hot.py", "patch": patch, **limits})))
        outside = diff.format(old=old, new=old).replace("hot.py", "../other.py")
        return *proofs, await client.call_tool("prove", {"path": "hot.py", "patch": outside, **limits})

    good, bad, refused = piped([root], talk)
    assert good["proven"]
    assert good["trial"]["verdict"] == "helped"
    assert not good["failing"]
    assert not bad["proven"]
    assert bad["failing"]
    assert bad["brief"]["must_hold"]
    assert refused.is_error
    assert "other.py" in said(refused)
