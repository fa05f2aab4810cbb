"""Draws the pictures of the README from what is real: the page of the recorded example in a terminal that fills line by
line, and the figures of docs/benchmarks.md as bars.

    python docs/images/draw.py            writes them, and the sentences with these figures
    python docs/images/draw.py --check    exits 1 where they are not up to date
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from traindx.cli.diagnose import with_patches
from traindx.opening import diagnose, read
from traindx.reporters import reporters
from traindx.reporters.tokens import DARK, LIGHT

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXAMPLE = ROOT / "examples" / "mistake"
COMMAND = "traindx diagnose train.traindx"
LETTER, LINE, EDGE = 7.83, 18, 22  # pixels
SECONDS = 10.0  # until the page stands whole
COLUMNS = 100
_INK = {"1": "ink", "2": "soft", "1;31": "bad", "1;32": "good", "1;33": "warn", "36": "accent"}
_BOLD = ("1", "1;31", "1;32", "1;33")
_ANSI = re.compile(r"\x1b\[([\d;]*)m")
_SECTION = "| tool | fires on faults | right cause first | near misses included | false alarms |"
_PAGE = re.compile(r"^```\ntraindx · (\S+) ", re.MULTILINE)  # a page that the README shows
BAR, ROW, NAMES = 290, 26, 250  # pixels


def terminal() -> str:
    """The page as the terminal shows it; every line appears at its time."""
    os.chdir(EXAMPLE)
    run = read("train.traindx")[0]
    text = reporters()["text"].render([with_patches(run, diagnose(run))], color=True, width=COLUMNS)
    lines = [f"\x1b[36m$\x1b[0m {COMMAND}", "", *text.rstrip("\n").split("\n")]
    width, height = round(COLUMNS * LETTER + 2 * EDGE), len(lines) * LINE + 2 * EDGE + 14
    step = SECONDS * 0.8 / len(lines)
    shown = "".join(
        f'<text y="{EDGE + 26 + place * LINE}" style="animation-delay:{place * step:.2f}s">{_spans(line)}</text>'
        for place, line in enumerate(lines)
    )
    style = (
        "text{white-space:pre;opacity:0;animation:appear .25s forwards}@keyframes appear{to{opacity:1}}"
        "@media (prefers-reduced-motion:reduce){text{opacity:1;animation:none}}"
    )
    lights = "".join(
        f'<circle cx="{EDGE + 16 * n}" cy="16" r="5" fill="{DARK[name]}"/>'
        for n, name in enumerate(("bad", "warn", "good"))
    )
    frame = f'<rect width="{width}" height="{height}" rx="10" fill="{DARK["card"]}"/>'
    font = f'font-family="{escape(LIGHT["mono"].replace(chr(34), ""))}" font-size="13" fill="{DARK["ink"]}"'
    return _svg(width, height, font, f"<style>{style}</style>{frame}{lights}{shown}", "A training with two mistakes")


def _svg(width: int, height: int, font: str, body: str, title: str) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}><title>{title}</title>{body}</svg>\n'


def _spans(line: str) -> str:
    """A line with its colours; every piece is as wide as its letters, so that columns stay columns."""
    parts, column, color = [], 0, ""
    for place, piece in enumerate(_ANSI.split(line)):
        if place % 2:
            color = "" if piece in ("", "0") else piece
        elif piece:
            bold = ' font-weight="700"' if color in _BOLD else ""
            fill = DARK[_INK.get(color, "ink")]
            parts.append(
                f'<tspan x="{EDGE + column * LETTER:.1f}" textLength="{len(piece) * LETTER:.1f}" fill="{fill}"{bold}>'
                f"{escape(piece)}</tspan>"
            )
            column += len(piece)
    return "".join(parts)


def peers() -> str:
    """How often each tool names the right cause first, and how often it fires on a healthy training."""
    rows = sorted(_figures(), key=lambda row: -row[1])
    width, height = NAMES + BAR + 250, len(rows) * ROW + 84
    parts = [
        f'<text x="16" y="26" font-weight="700" fill="{LIGHT["ink"]}">Names the right cause first</text>',
        f'<text x="{width - 16}" y="26" text-anchor="end" fill="{LIGHT["soft"]}">fires on healthy trainings</text>',
    ]
    for place, (name, right, _, false) in enumerate(rows):
        y = 44 + place * ROW
        long = max(2, round(right / 100 * BAR))
        own = name.startswith("traindx")
        fill = LIGHT["s0"] if own else LIGHT["s7"]
        weight = ' font-weight="700"' if own else ""
        parts += [
            f'<text x="16" y="{y + 14}" fill="{LIGHT["ink"]}"{weight}>{escape(name)}</text>',
            f'<rect x="{NAMES}" y="{y + 2}" width="{long}" height="16" rx="3" fill="{fill}"/>',
            f'<text x="{NAMES + long + 8}" y="{y + 14}" fill="{LIGHT["ink"]}">{right} %</text>',
            f'<text x="{width - 16}" y="{y + 14}" text-anchor="end" fill="{LIGHT["soft"]}">{false} %</text>',
        ]
    parts.append(
        f'<text x="16" y="{height - 14}" fill="{LIGHT["soft"]}">The fault zoo, tasks left out of every fit: '
        "docs/benchmarks.md says how it was measured.</text>"
    )
    frame = f'<rect width="{width}" height="{height}" rx="10" fill="{LIGHT["card"]}" stroke="{LIGHT["line"]}"/>'
    font = 'font-family="system-ui, sans-serif" font-size="13"'
    return _svg(width, height, font, frame + "".join(parts), "Causes named, beside peers")


def _figures() -> Iterator[tuple[str, int, int, int]]:
    """Tool, right cause first, near misses included and false alarms, from the table in docs/benchmarks.md."""
    text = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    for line in text[text.index(_SECTION) :].split("\n")[2:]:
        cells = [cell.strip(" *") for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            return
        yield cells[0], *(int(cell.rstrip("%")) for cell in cells[2:5])


def sentences() -> dict[str, tuple[re.Pattern[str], str]]:
    """What other pages say of the figures of the chart: the file, where it stands, and how it reads."""
    rows = {row[0]: row for row in _figures()}
    inside, trace, log = (rows[f"traindx, {name}"] for name in ("recording", "the same trace", "the script's own log"))
    best = max(right for name, right, _, _ in rows.values() if not name.startswith("traindx"))
    chart = f"traindx from the inside {inside[1]} %, from a log {log[1]} %, the best peer {best} %"
    zoo = (
        f"right cause first in {inside[1]} % from the inside, but only {trace[1]} % (near misses\n"
        f"included {trace[2]} %) from the same trace that the others get, with {inside[3]} and {trace[3]} % "
        "false alarms"
    )
    return {
        "README.md": (re.compile(r"traindx from the inside \d+ %, from a log \d+ %, the best peer \d+ %"), chart),
        "docs/peers.md": (
            re.compile(r"right cause first in \d+ % from the inside, [^()]*\([^()]*\)[^()]*% false alarms"),
            zoo,
        ),
    }


def pages(text: str) -> str:
    """The README with each page it shows as it is printed today."""
    os.chdir(ROOT)
    for source in _PAGE.findall(text):
        run = read(source)[0]
        page = reporters()["text"].render([diagnose(run)], color=False, width=COLUMNS)
        shown = re.compile(rf"(?<=^```\n)traindx · {re.escape(source)} .*?(?=^```$)", re.MULTILINE | re.DOTALL)
        text = shown.sub(page.replace("\\", r"\\"), text)
    return text


def main(arguments: list[str]) -> int:
    made = {"docs/images/terminal.svg": terminal(), "docs/images/peers.svg": peers()}
    for name, (pattern, sentence) in sentences().items():
        made[name] = pattern.sub(sentence, (ROOT / name).read_text("utf-8"))
    made["README.md"] = pages(made["README.md"])
    stale = [name for name in made if not (ROOT / name).exists() or (ROOT / name).read_text("utf-8") != made[name]]
    if "--check" in arguments:
        print("\n".join(f"not up to date: {name}" for name in stale))
        return 1 if stale else 0
    for name in stale:
        (ROOT / name).write_text(made[name], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
