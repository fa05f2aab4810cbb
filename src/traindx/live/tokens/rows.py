"""One row of a batch, read: what is padding, what is special, where the prompt ends, what the documents are."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from traindx.live.tokens.batch import TokenBatch
from traindx.live.tokens.template import CONTROL, answers_in
from traindx.live.tokens.vocabulary import Vocabulary

MAX_READ = 1024  # tokens of a row that are read as text
MIN_PROMPT = 2  # tokens that are left out of the loss before the first that counts: a prompt, not a first token


@dataclass(slots=True)
class Row:
    """`classes` has a letter a token, as in `TokenSample`."""

    ids: list[int]
    counted: list[bool]
    first: int  # the first token that is no padding,
    last: int  # and one past the last
    classes: list[str]
    known_by: str = ""  # how prompt and answer are known
    marker: str = ""  # before the answers
    boundary: int = -1  # the first token of the first answer
    split: str = ""  # a control marker that is several tokens
    starts: list[int] = field(default_factory=list)  # first tokens of documents after the first
    begun: bool = False  # each of these begins with a begin-of-sequence token
    asked: list[int] = field(default_factory=list)  # first tokens of questions in a format written by hand

    @property
    def length(self) -> int:
        return self.last - self.first

    @property
    def packed(self) -> bool:
        """What stands in one row with padding is one sample, as a conversation of several turns, unless each begins as
        only samples do."""
        return bool(self.starts) and (self.begun or self.length == len(self.ids))

    def count(self, letters: str, *, counted: bool = False) -> int:
        return sum(
            one in letters and (not counted or here) for one, here in zip(self.classes, self.counted, strict=True)
        )


def read_row(batch: TokenBatch, number: int, vocabulary: Vocabulary | None) -> Row:
    ids: list[int] = batch.ids[number].tolist()
    counted: list[bool] = batch.counted[number].tolist()
    attention = batch.attention[number].tolist() if batch.attention is not None else None
    first, last = _inner(ids, attention, vocabulary)
    special = vocabulary.special if vocabulary is not None else frozenset()
    classes = ["-" if not first <= place < last else "s" if one in special else "t" for place, one in enumerate(ids)]
    row = Row(ids, counted, first, last, classes)
    if vocabulary is not None and batch.shift == 1:
        _read_text(row, vocabulary)
    if not row.known_by and batch.shift == 1:
        _read_labels(row)
    row.starts = _restarts(row, batch.positions[number].tolist()) if batch.positions is not None else []
    if row.starts:
        row.begun = True  # the script itself says where samples begin
    elif vocabulary is not None:
        row.starts = _documents(row, vocabulary) or _joined(row) or _wrapped(row, vocabulary)
        row.begun = vocabulary.bos != vocabulary.eos and all(row.ids[place] == vocabulary.bos for place in row.starts)
    return row


def _inner(ids: list[int], attention: list[bool] | None, vocabulary: Vocabulary | None) -> tuple[int, int]:
    """The stretch of a row without the padding at its ends."""
    first, last = 0, len(ids)
    if attention is not None and not all(attention):
        seen = [place for place, one in enumerate(attention) if one]
        return (seen[0], seen[-1] + 1) if seen else (0, 0)
    pad = vocabulary.pad if vocabulary is not None else None
    if pad is None:
        return first, last
    while last > first and ids[last - 1] == pad:
        last -= 1
    while first < last and ids[first] == pad:
        first += 1
    if pad == (vocabulary.eos if vocabulary is not None else None):  # the first of them may be the end itself
        last = min(len(ids), last + 1)
    if pad == (vocabulary.bos if vocabulary is not None else None) and first:
        first -= 1
    return first, last


def _read_text(row: Row, vocabulary: Vocabulary) -> None:
    """Prompt and answer by the markers of a template."""
    pieces = vocabulary.pieces(row.ids[row.first : min(row.last, row.first + MAX_READ)])
    begins, length = [], 0
    for piece in pieces:
        begins.append(length)
        length += len(piece)
    text = "".join(pieces)

    def token_at(place: int) -> int:
        return row.first + max(0, bisect_right(begins, place) - 1)

    for match in CONTROL.finditer(text):
        if token_at(match.start()) != token_at(match.end() - 1):
            row.split = row.split or match.group()
    found = answers_in(text, vocabulary.template)
    if found is None:
        return
    row.known_by, row.marker = "template" if found.own else "markers", found.marker
    row.asked = [token_at(place) for place in found.asked]
    answer = [False] * len(row.ids)
    for begin, end in found.spans:
        start = token_at(begin) if begin < length else row.first + len(pieces)
        if begin < length and text[begins[start - row.first] : begin].strip():
            start += 1  # the marker ends inside of this token, and not in the space before a word
        stop = token_at(end) if end < length else row.first + len(pieces)
        while stop < row.last and vocabulary.ends(row.ids[stop]) and stop - start >= 0:
            stop += 1
            break
        row.boundary = start if row.boundary < 0 else row.boundary
        answer[start:stop] = [True] * max(0, stop - start)
    for place in range(row.first, row.last):
        row.classes[place] = "a" if answer[place] else "s" if row.classes[place] == "s" else "p"


def _read_labels(row: Row) -> None:
    """Prompt and answer by what the labels leave out, where that is a stretch at the beginning."""
    inside = [place for place in range(row.first, row.last) if row.counted[place]]
    if not inside or inside[0] - row.first < MIN_PROMPT:
        return
    whole = inside[-1] - inside[0] + 1 == len(inside)
    if not whole and len(inside) < (row.last - row.first) // 8:
        return  # tokens here and there: no answer
    row.known_by, row.boundary = "labels", inside[0]
    for place in range(row.first, row.last):
        row.classes[place] = "a" if row.counted[place] else "s" if row.classes[place] == "s" else "p"


def split_behind(row: Row, asked: tuple[int, ...]) -> bool:
    """Prompt and answer by the tokens that prompts for generation end with; whether the row has them before an end."""
    for place in range(row.last - len(asked) - 1, row.first, -1):
        if tuple(row.ids[place : place + len(asked)]) == asked:
            row.known_by, row.boundary = "generation", place + len(asked)
            for here in range(row.first, row.last):
                behind = here >= row.boundary
                row.classes[here] = "a" if behind else "s" if row.classes[here] == "s" else "p"
            return True
    return False


def _restarts(row: Row, positions: list[int]) -> list[int]:
    """Where position ids begin again at 0 and count on from there."""
    places = range(row.first + 1, row.last - 1)
    return [place for place in places if positions[place] == 0 and positions[place - 1] and positions[place + 1] == 1]


def _documents(row: Row, vocabulary: Vocabulary) -> list[int]:
    """The places at which another document begins: behind an end-of-sequence token, or at a begin-of-sequence token. A
    chat ends its turns with the same token: there, the next one must begin as the row does."""
    eos, bos = vocabulary.eos, vocabulary.bos
    ids, starts = row.ids, []
    for place in range(row.first + 1, row.last):
        here, before = ids[place], ids[place - 1]
        if here == bos and bos != eos:
            if before != bos and not _is_turn(row, place, vocabulary):
                starts.append(place)
        elif before == eos and here != eos and place - row.first > 1 and not _is_turn(row, place, vocabulary):
            starts.append(place)
    return starts


def _joined(row: Row) -> list[int]:
    """The same where no token stands between documents: questions after the first, in a row that begins inside of a
    document, as windows over joined texts do. A conversation begins with its question."""
    inside = row.ids[row.first : row.last]
    marked = any(one == "s" for one in row.classes)
    if marked or len(row.asked) < 2 or row.asked[0] - row.first < MIN_PROMPT or not inside:
        return []
    return row.asked


def _wrapped(row: Row, vocabulary: Vocabulary) -> list[int]:
    """Questions in the template of the tokenizer, in a full row that begins inside of a sample: windows over joined
    conversations. A conversation begins with its question, and one that was cut is cut at its end."""
    template = vocabulary.template
    asks = _bare(template.turn) if template is not None else ""
    if not asks or row.known_by != "template" or row.length < len(row.ids):
        return []
    before = _bare(vocabulary.piece(vocabulary.eos)) if vocabulary.eos is not None else ""
    asks = asks.removeprefix(before)
    text = _bare("".join(vocabulary.pieces(row.ids[row.first : row.first + 24])))
    head = _bare(template.head) if template is not None else ""
    if not asks or text.startswith(asks) or (head and text.startswith(head)):
        return []
    inside = range(row.first + MIN_PROMPT, row.last - 1)
    return [place for place in inside if row.ids[place - 1] == vocabulary.eos and _asks(row, place, vocabulary, asks)]


def _asks(row: Row, place: int, vocabulary: Vocabulary, asks: str) -> bool:
    return _bare("".join(vocabulary.pieces(row.ids[place : place + 24]))).startswith(asks)


def _bare(text: str) -> str:
    """Without white space, which tokenizers of whole words drop."""
    return "".join(text.split())


def _is_turn(row: Row, place: int, vocabulary: Vocabulary) -> bool:
    """Whether the next turn of a conversation begins here, by the template of the tokenizer."""
    template = vocabulary.template
    if template is None:
        return False
    text = "".join(vocabulary.pieces(row.ids[place - 1 : place + 24]))
    for written in (template.opening, template.turn):
        if written.strip() and _bare(text).startswith(_bare(written)):
            return True
    return not text.partition(vocabulary.piece(row.ids[place - 1]))[2].strip()  # only white space behind the last turn
