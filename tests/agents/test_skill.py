"""The skill and the manifests: what an agent's host checks before it loads them, and that every reference is there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from traindx.causes import causes
from traindx.cli import app
from traindx.reporters.skill import files, main
from traindx.version import __version__

ROOT = Path(__file__).parents[2]
SKILL = ROOT / "skills" / "traindx"


def test_the_head_is_what_hosts_accept() -> None:
    _, head, body = files()["SKILL.md"].split("---\n", 2)
    told = yaml.safe_load(head)
    assert told["name"] == SKILL.name
    assert 0 < len(told["description"]) <= 1024
    assert "Use when" in told["description"]
    assert len(told["compatibility"]) <= 500
    assert told["metadata"]["version"] == __version__
    assert len(body.splitlines()) < 500


def test_every_cause_has_a_reference_with_code_and_every_link_leads_somewhere() -> None:
    made = files()
    assert {f"references/{name}.md" for name in causes()} == set(made) - {"SKILL.md"}
    for path, text in made.items():
        folder = "" if path == "SKILL.md" else "references/"
        for target in re.findall(r"\]\(([^)]+\.md)\)", text):
            assert f"{folder}{target}" in made, f"{path} links to {target}"
    assert all("## Code of the fixes" in made[f"references/{c.id}.md"] for c in causes().values() if c.fixes)


def test_it_is_written_and_checked(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 0
    assert main(["--check", str(tmp_path)]) == 0
    (tmp_path / "references" / "gone.md").touch()
    assert main(["--check", str(tmp_path)]) == 1


def test_commands_and_tools_it_names_exist() -> None:
    from traindx.mcp.tools import tools

    known = {command.name for command in app.registered_commands}
    text = files()["SKILL.md"]
    assert set(re.findall(r"`traindx ([a-z-]+)", text)) <= known
    assert set(re.findall(r"\| `([a-z]+)`(?: with `path`)? \|", text)) <= set(tools())


def test_manifests_agree_with_the_package() -> None:
    plugin, market, server, config = (
        json.loads((ROOT / path).read_text("utf-8"))
        for path in (".claude-plugin/plugin.json", ".claude-plugin/marketplace.json", "server.json", ".mcp.json")
    )
    assert plugin["name"] == market["plugins"][0]["name"] == SKILL.name
    assert (ROOT / market["plugins"][0]["source"] / ".claude-plugin" / "plugin.json").is_file()
    package = server["packages"][0]
    assert plugin["version"] == server["version"] == package["version"] == __version__
    assert len(server["description"]) <= 100
    assert package["packageArguments"][0]["value"] == "mcp"
    assert f"mcp-name: {server['name']}" in (ROOT / "README.md").read_text("utf-8")
    assert config["mcpServers"]["traindx"]["args"][-2:] == ["traindx", "mcp"]
