"""Writes the bill of materials into the wheel: what is in it, with checksums, and what it needs (CycloneDX)."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Bill(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        place = Path(self.directory) / "traindx.cdx.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(bill(root, self.metadata.version), indent=1, sort_keys=True) + "\n")
        build_data.setdefault("sbom_files", []).append(str(place))


def bill(root: Path, version: str) -> dict[str, Any]:
    """The same for the same source, whenever and wherever it is made: no time, no host, no random number."""
    needs = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    files = sorted(path for path in (root / "src" / "traindx").rglob("*") if path.is_file() and path.suffix != ".pyc")
    listed = [
        {
            "type": "file",
            "name": path.relative_to(root / "src").as_posix(),
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}],
        }
        for path in files
    ]
    libraries = [{"type": "library", "name": need.partition(">")[0], "version": need} for need in needs]
    about = {"component": {"type": "library", "name": "traindx", "version": version}}
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1}
    return {**bill, "metadata": about, "components": [*libraries, *listed]}
