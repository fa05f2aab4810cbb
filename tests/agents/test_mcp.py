"""`traindx mcp` with the official client: what tools say, what they refuse, and that nothing else reaches the
protocol."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from talking import call, inside, piped, said

from traindx.casebook.store import CaseBook
from traindx.cli import main
from traindx.engine import diagnose
from traindx.readers.find import find_runs

EXAMPLES = Path(__file__).parents[2] / "examples"
FALLING = "step,loss\n" + "".join(f"{step},{4 / (step + 1) + 0.1}\n" for step in range(200))


def test_over_a_pipe_a_client_finds_the_tools_and_gets_a_diagnosis_within_a_second() -> None:
    began = time.perf_counter()
    direct = diagnose(find_runs([EXAMPLES / "sick"])[0])
    alone = time.perf_counter() - began

    async def talk(client: Client) -> tuple[Any, Any, float]:
        tools = (await client.list_tools()).tools
        times = []
        for _ in range(3):  # the quickest: other work on the machine is not ours
            began = time.perf_counter()
            result = await client.call_tool("diagnose", {"path": "sick"})
            times.append(time.perf_counter() - began)
        return tools, result, min(times)

    tools, result, took = piped([EXAMPLES], talk)
    notes = {tool.name: tool.annotations for tool in tools}
    assert {"ask", "compare", "diagnose", "explain", "list", "probe", "prove", "trial"} <= set(notes)
    assert [name for name, note in notes.items() if not note.read_only_hint] == ["probe", "prove", "trial"]
    assert all(tool.description and tool.output_schema for tool in tools)
    run = result.structured_content["runs"][0]
    assert run["verdict"] == result.structured_content["verdict"] == direct.verdict == "unhealthy"
    assert run["hypotheses"][0]["cause"] == direct.hypotheses[0].cause
    assert direct.hypotheses[0].cause in said(result)
    assert took < alone + 1


def test_a_diagnosis_enters_the_case_book_as_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def talk(client: Client) -> tuple[bool, Any]:
        notes = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        assert not notes["diagnose"].destructive_hint
        return notes["diagnose"].read_only_hint, await client.call_tool("diagnose", {"path": "sick"})

    assert inside([EXAMPLES], talk)[0]  # the book is off
    book = tmp_path / "cases.sqlite"
    monkeypatch.setenv("TRAINDX_CASES", str(book))
    read_only, result = inside([EXAMPLES], talk)
    assert not read_only
    assert result.structured_content["runs"][0]["run"] == "sick/metrics.csv"
    (case,) = CaseBook(book).cases()
    assert case.source == str(EXAMPLES / "sick" / "metrics.csv")
    assert main(["diagnose", str(EXAMPLES / "sick")]) == 1
    capsys.readouterr()
    assert len(CaseBook(book).cases()) == 1  # the same run is the same case, whoever asks


@pytest.mark.parametrize("asked", ["../secret.csv", "link.csv", "linked", "/etc/hostname", "linked/secret.csv", "loop"])
def test_nothing_outside_the_roots_can_be_named(tmp_path: Path, asked: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.csv").write_text(FALLING)
    (root / "link.csv").symlink_to(tmp_path / "secret.csv")
    (root / "linked").symlink_to(tmp_path)
    (root / "loop").symlink_to(root / "loop")
    result = call([root], "diagnose", path=asked)
    assert result.is_error
    assert "outside the allowed directories" in said(result)
    assert "--root" in said(result)


def test_links_out_of_a_directory_are_passed_over(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.csv").write_text(FALLING)
    (tmp_path / "secret.yaml").write_text("password: hunter2\n")
    (root / "own.csv").write_text(FALLING.replace("loss", "train_loss"))
    (root / "link.csv").symlink_to(tmp_path / "secret.csv")
    (root / "config.yaml").symlink_to(tmp_path / "secret.yaml")
    result = call([root], "diagnose", path=".")
    assert [run["run"] for run in result.structured_content["runs"]] == ["own.csv"]
    assert call([root, tmp_path], "diagnose", path=str(tmp_path / "secret.csv")).structured_content["total"] == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("diagnose", {"path": "nowhere"}, ["nowhere does not exist", "Check"]),
        ("diagnose", {"path": ""}, ["`path` is empty", "Give"]),
        ("diagnose", {"path": "empty.csv"}, ["empty", "Give"]),
        ("diagnose", {"path": "run.csv", "cursor": "soon"}, ["cursor 'soon'", "next_cursor"]),
        ("diagnose", {"path": "run.csv", "cursor": "abc.5"}, ["not known", "Start again"]),
        ("diagnose", {"path": "run.csv", "metric": "fid"}, ["fid"]),
        ("diagnose", {"path": "run.csv", "metrics": "loss"}, ["no argument 'metrics'", "metric"]),
        ("explain", {"id": "lr-to-high"}, ["lr-to-high", "Did you mean lr-too-high"]),
        ("list", {"limit": 0}, ["limit"]),
        ("probe", {"path": "empty.csv"}, ["ended with code"]),
    ],
)
def test_refusals_say_what_and_what_next(
    tmp_path: Path, tool: str, arguments: dict[str, Any], words: list[str]
) -> None:
    (tmp_path / "empty.csv").touch()
    (tmp_path / "run.csv").write_text(FALLING)
    result = call([tmp_path], tool, **arguments)
    assert result.is_error
    assert all(word in said(result) for word in words)
    assert "Traceback" not in said(result)


def test_runs_come_page_by_page_the_sickest_first(tmp_path: Path) -> None:
    for number in range(7):
        (tmp_path / f"run{number}").mkdir()
        (tmp_path / f"run{number}" / "log.csv").write_text(FALLING.replace("0.1", f"0.1{number}"))
    sick = (EXAMPLES / "sick" / "metrics.csv").read_text()
    (tmp_path / "run9.csv").write_text(sick)

    async def talk(client: Client) -> list[Any]:
        pages = []
        cursor: dict[str, str] = {}
        while not pages or cursor:
            result = await client.call_tool("diagnose", {"path": ".", "limit": 3, **cursor})
            pages.append(result.structured_content)
            following = pages[-1]["next_cursor"]
            cursor = {"cursor": following} if following else {}
        return pages

    pages = inside([tmp_path], talk)
    names = [run["run"] for page in pages for run in page["runs"]]
    assert [len(page["runs"]) for page in pages] == [3, 3, 2]
    assert len(set(names)) == pages[0]["total"] == 8
    assert names[0] == "run9.csv"


def test_the_catalogue_is_listed_page_by_page_and_read_as_resources() -> None:
    async def talk(client: Client) -> tuple[set[str], str]:
        seen: set[str] = set()
        arguments: dict[str, Any] = {"what": "causes", "limit": 50}
        while True:
            page = (await client.call_tool("list", arguments)).structured_content
            seen |= {entry["id"] for entry in page["entries"]}
            if page["next_cursor"] is None:
                break
            arguments["cursor"] = page["next_cursor"]
        narrow = await client.call_tool("list", {"what": "fixes", "contains": "learning rate"})
        assert 0 < narrow.structured_content["total"] < 20
        prompt = await client.get_prompt("find-cause", {"path": "sick"})
        assert "training at sick" in str(prompt.messages[0].content)
        found = await client.read_resource("traindx://cause/lr-too-high")
        return seen, found.contents[0].text  # type: ignore[union-attr]

    from traindx.causes import causes

    seen, page = inside([EXAMPLES], talk)
    assert seen == set(causes())
    assert page.startswith("# Learning rate too high")


def test_long_readings_report_their_progress(tmp_path: Path) -> None:
    rows = "".join(f"{step},{4 / (step + 1) + 0.1}\n" for step in range(100_000))
    (tmp_path / "long.csv").write_text(f"step,loss\n{rows}")
    told: list[tuple[float, float | None]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total))

    inside([tmp_path], lambda client: client.call_tool("diagnose", {"path": "long.csv"}, progress_callback=note))
    assert told
    assert all(0 <= done <= (total or 1) for done, total in told)


def test_the_interview_goes_from_call_to_call_to_a_cause() -> None:
    told: dict[str, Any] = {"symptoms": ["nan"], "precision": "unscaled"}

    async def talk(client: Client) -> list[Any]:
        steps = [(await client.call_tool("ask", {"says": "my loss became nan after a few steps"})).structured_content]
        while steps[-1]["question"] is not None and len(steps) < 20:
            question = steps[-1]["question"]
            value = told.get(question["id"])
            either = {"answers": {question["id"]: value}} if len(steps) % 2 else {"id": question["id"], "value": value}
            asked = {"session": steps[-1]["session"], **either}
            result = await client.call_tool("ask", asked)
            assert not result.is_error, said(result)
            steps.append(result.structured_content)
        wrong = await client.call_tool("ask", {"session": steps[0]["session"], "path": "sick"})
        gone = await client.call_tool("ask", {"session": "none"})
        with_run = await client.call_tool("ask", {"path": "sick"})
        return [*steps, wrong, gone, with_run]

    *steps, wrong, gone, with_run = inside([EXAMPLES], talk)
    assert steps[0]["replies"]
    assert len({step["session"] for step in steps}) == 1
    assert [step["answered"] for step in steps] == list(range(len(steps)))
    assert steps[-1]["question"] is None
    assert steps[-1]["diagnosis"]["hypotheses"][0]["cause"] == "fp16-overflow"
    assert "Begin again" in said(wrong)
    assert "not known" in said(gone)
    assert with_run.structured_content["diagnosis"]["run"] == "sick/metrics.csv"


def test_runs_are_compared_within_the_roots(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    (runs / "links").mkdir(parents=True)
    for name in ("sick", "healthy"):
        (runs / f"{name}.csv").write_text((EXAMPLES / name / "metrics.csv").read_text())
    (tmp_path / "secret.csv").write_text(FALLING)
    (runs / "links" / "log.csv").symlink_to(tmp_path / "secret.csv")

    async def talk(client: Client) -> tuple[Any, Any, Any]:
        two = await client.call_tool("compare", {"path": "sick.csv", "others": ["healthy.csv"]})
        assert (await client.call_tool("compare", {"path": ["sick.csv", "healthy.csv"]})).content == two.content
        page = await client.call_tool("compare", {"path": ".", "limit": 1})
        cursor = page.structured_content["next_cursor"]
        return two, page, await client.call_tool("compare", {"path": ".", "limit": 1, "cursor": cursor})

    two, first, second = inside([runs], talk)
    change = two.structured_content["change"]
    assert change["verdict"] == "helped"
    assert "divergence" in change["cleared"]
    assert first.structured_content["total"] == 2
    names = [page.structured_content["runs"][0]["run"] for page in (first, second)]
    assert names == ["healthy.csv", "sick.csv"]
    assert call([runs], "compare", path="../secret.csv").is_error


SCRIPT = """
import torch
print('{"jsonrpc": "2.0", "method": "noise"}', flush=True)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
for step in range(20):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


def test_a_probe_runs_the_script_whose_output_stays_out_of_the_protocol(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "forever.py").write_text("import time\nwhile True:\n    time.sleep(0.1)\n")

    async def talk(client: Client) -> tuple[Any, Any]:
        stopped = await client.call_tool("probe", {"path": "forever.py", "seconds": 1.5})
        return stopped, await client.call_tool("probe", {"path": "train.py", "kind": "gradients"})

    stopped, probed = piped([tmp_path], talk)
    assert stopped.is_error
    assert "longer than" in said(stopped)
    assert [reading["probe"] for reading in probed.structured_content["readings"]] == ["gradients"]
    assert probed.structured_content["diagnosis"]["verdict"] in ("healthy", "inconclusive", "unhealthy")


def test_without_the_package_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["mcp"]) == 2
    assert "pip install 'traindx[mcp]'" in capsys.readouterr().err


def test_a_root_must_be_a_directory(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--root", "/nowhere/at/all"]) == 2
    assert "is no directory" in capsys.readouterr().err
