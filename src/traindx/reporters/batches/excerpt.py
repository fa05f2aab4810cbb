"""A batch of a language model as its loss sees it, as text: which tokens count, which are special, what each class
costs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len

from traindx.diagnosis import Diagnosis
from traindx.measurements import TokenSample, TokenSamples
from traindx.reporters.layout import Ink, Style, wrap
from traindx.reporters.wording import amount, clean, number
from traindx.token_samples import CLASSES, Tally, stretches, tallies

INPUTS = "input tokens"  # what a symptom needs that is measured on such a batch
LINES = 6  # of one sample's text
GAP = " … "
_BREAK = "⏎"
_MARKER = re.compile(r"</?[^<>\s]+>|\[/?[A-Z_]+\]")  # how special tokens are written
_UNDER = "▔"  # below tokens that count, where there is no colour to say it


def about_tokens(diagnosis: Diagnosis) -> bool:
    """Whether something was found in what the loss of a language model sees."""
    from traindx.symptoms import symptoms

    known = symptoms()
    return any(INPUTS in known[one.id].needs for one in diagnosis.present() if one.id in known)


def title(batch: TokenSamples) -> str:
    """Which batch it is, and how its labels lie."""
    what = "evaluation batch" if batch.evaluation else "training batch"
    shift = {0: "each label stands at its own token: not shifted", 2: "each label is two tokens ahead: shifted twice"}
    said = shift.get(batch.shift, "")
    return f"{what} at step {batch.step}, as the loss sees it" + (f"; {said}" if said else "")


def held(sample: TokenSample) -> str:
    """What a sample holds, class by class: '61 prompt (0 counted), 12 answer (12 counted, mean loss 2.31)'."""
    shown = [_held(one) for one in tallies(sample)]
    beyond = sample.length - len(sample.classes)
    return f"{amount(sample.length, 'token')}: {', '.join(shown)}" + (f", {beyond} not shown" if beyond > 0 else "")


def _held(tally: Tally) -> str:
    if not tally.counted:
        return f"{tally.tokens} {tally.name} (not counted)"
    every = "all counted" if tally.counted == tally.tokens else f"{tally.counted} counted"
    loss = "" if tally.loss is None else f", mean loss {number(tally.loss)}"
    return f"{tally.tokens} {tally.name} ({every}{loss})"


def key(*, color: bool) -> str:
    if color:
        return "bright: counted in the loss · dim: not counted · [boxed]: special token"
    return f"{_UNDER} counted in the loss · [boxed]: special token"


def excerpt(batch: TokenSamples, *, samples: int, lines: int, color: bool, width: int) -> list[str]:
    """The first samples with what counts in them."""
    ink = Ink(color)
    shown: list[str] = []
    for place, sample in enumerate(batch.samples[:samples], 1):
        shown += wrap(f"sample {place}, {held(sample)}", width)
        shown += [f"  {line}" for line in _text(sample, ink, width - 2, lines)]
    return [*shown, ink(key(color=color), "dim")] if shown else []


def pieces(sample: TokenSample) -> list[str]:
    """Each token as it is written; where texts were kept out, its class instead of a stretch of them."""
    if sample.pieces:
        written = [clean(piece.replace("\n", _BREAK)) for piece in sample.pieces]
    elif sample.ids:
        written = [f" {one}" for one in sample.ids]
    else:
        return [f"[{CLASSES[one.letter]} ×{one.end - one.start}]" for one in stretches(sample)]
    return [
        f"[{piece.strip()}]" if boxed(piece, letter) else piece
        for piece, letter in zip(written, sample.classes, strict=True)
    ]


def boxed(piece: str, letter: str) -> bool:
    """Special tokens and padding, and the end of an answer, which belongs to the answer."""
    return bool(piece.strip()) and (letter in "s-" or _MARKER.fullmatch(piece.strip()) is not None)


def _text(sample: TokenSample, ink: Ink, width: int, most: int) -> list[str]:
    """Tokens in a row, wrapped between them. Of a long sample its beginning, and the first tokens that count."""
    written = pieces(sample)
    private = not sample.pieces and not sample.ids
    if private:
        styled = [(text, one.counted) for text, one in zip(written, stretches(sample), strict=True)]
    else:
        styled = _padding_once(sample, written)
    if sample.first:
        styled = [(GAP.lstrip(), False), *styled]
    rows = _rows(_chosen(styled, width * most // 2 if not ink.color else width * most), width)
    lines: list[str] = []
    for row in rows[: most if ink.color else (most + 1) // 2]:
        lines.append("".join(ink(text, _style(counted)) for text, counted in row).rstrip())
        if not ink.color:
            under = "".join((_UNDER if counted else " ") * cell_len(text) for text, counted in row).rstrip()
            lines += [under] if under else []
    return lines


def _padding_once(sample: TokenSample, written: Sequence[str]) -> list[tuple[str, bool]]:
    """Tokens with whether they count; padding in a row is one of them with its number."""
    shown: list[tuple[str, bool]] = []
    for one in stretches(sample):
        if CLASSES[one.letter] == "padding":
            shown.append((f"{written[one.start]}×{one.end - one.start}", one.counted))
        else:
            shown += [(written[place], one.counted) for place in range(one.start, one.end)]
    return shown


def _style(counted: bool) -> Style:
    return "green" if counted else "dim"


def _chosen(tokens: Sequence[tuple[str, bool]], room: int) -> list[tuple[str, bool]]:
    """As much as there is room for: all, or the beginning and what stands around the end of the last that counts."""
    if sum(cell_len(text) for text, _ in tokens) <= room:
        return list(tokens)
    counted = [place for place, (_, one) in enumerate(tokens) if one]
    last = counted[-1] if counted else len(tokens) - 1
    head = _within(tokens, range(len(tokens)), room // 3)
    stop = min(len(tokens), last + 3)
    tail = _within(tokens, range(stop - 1, -1, -1), room - room // 3 - len(GAP))
    start = max(head, stop - tail)
    gap = [(GAP, False)] if start > head else []
    return [*tokens[:head], *gap, *tokens[start:stop], *([(GAP, False)] if stop < len(tokens) else [])]


def _within(tokens: Sequence[tuple[str, bool]], places: range, room: int) -> int:
    """How many tokens, in this order, fit."""
    fits = 0
    for place in places:
        room -= cell_len(tokens[place][0])
        if room < 0:
            break
        fits += 1
    return fits


def _rows(tokens: Sequence[tuple[str, bool]], width: int) -> list[list[tuple[str, bool]]]:
    rows: list[list[tuple[str, bool]]] = [[]]
    used = 0
    for text, counted in tokens:
        long = cell_len(text)
        if used and used + long > width:
            rows.append([])
            used = 0
        rows[-1].append((text, counted))
        used += long
    return rows
