"""The twelve further scripts, each in a folder of its own: a script as it stands here, with the edits of its label.

python benchmarks/lm_zoo/further/make.py FOLDER"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent


def make(folder: Path) -> None:
    """Every case, with the labels beside them."""
    for line in (HERE / "labels.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        text = (HERE / case["script"]).read_text("utf-8")
        for old, new in case["edits"]:
            if text.count(old) != 1:
                raise SystemExit(f"{case['id']}: {old.strip()!r} stands {text.count(old)} times in {case['script']}")
            text = text.replace(old, new)
        place = folder / case["id"]
        place.mkdir(parents=True, exist_ok=True)
        (place / case["script"]).write_text(text, "utf-8")
    shutil.copy(HERE / "labels.jsonl", folder)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    make(Path(sys.argv[1]))
