"""A tokenizer as far as the recording needs it: which numbers are special, and the text of a token.

Only functions of the tokenizer's own library are called, those that decode and convert; a vocabulary of the user's own
is read as the dict or list that it is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from traindx.live.tokens.template import Template, template_of

MAX_CACHED = 1 << 16
MAX_TRIED = 512  # numbers among which two whole words are looked for
PAD_NAMES = ("<pad>", "[PAD]", "<PAD>", "<|pad|>", "<|padding|>", "<unused0>")
EOS_NAMES = ("</s>", "<eos>", "<EOS>", "<|endoftext|>", "<|im_end|>", "<|end_of_text|>", "[EOS]", "<|eot_id|>", "<end>")
BOS_NAMES = ("<s>", "<bos>", "<BOS>", "<|begin_of_text|>", "<|startoftext|>", "[BOS]", "<start>")


@dataclass
class Vocabulary:
    """`decode` gives the text of one number."""

    kind: str  # class of the tokenizer
    size: int
    decode: Callable[[int], str]
    pad: int | None = None
    eos: int | None = None
    bos: int | None = None
    special: frozenset[int] = frozenset()
    adds_bos: bool | None = None
    template: Template | None = None
    has_template: bool = False
    library: bool = True  # of a library for tokenizers, not a dict or list of the script
    _pieces: dict[int, str] = field(default_factory=dict)

    def piece(self, number: int) -> str:
        known = self._pieces.get(number)
        if known is None:
            known = ""
            with suppress(Exception):  # a number beyond the vocabulary
                known = str(self.decode(number))
            if len(self._pieces) < MAX_CACHED:
                self._pieces[number] = known
        return known

    def pieces(self, numbers: Iterable[int]) -> list[str]:
        return [self.piece(number) for number in numbers]

    @property
    def template_ends(self) -> bool | None:
        """Whether the template puts a special token that ends a text behind an answer."""
        if self.template is None:
            return None
        ends = [self.piece(number) for number in self.special if self.ends(number)]
        return any(piece and piece in self.template.tail for piece in ends)

    def ends(self, number: int) -> bool:
        """Whether a text may end with this token."""
        return number == self.eos or (number in self.special and number not in (self.pad, self.bos))


def vocabulary_of(found: Any) -> Vocabulary | None:
    """The tokenizer of a library that this object is; None where it is none."""
    for kind, read in (
        ("transformers.tokenization_utils_base.PreTrainedTokenizerBase", _transformers),
        ("tokenizers.Tokenizer", _tokenizers),
        ("tiktoken.core.Encoding", _tiktoken),
        ("sentencepiece.SentencePieceProcessor", _sentencepiece),
    ):
        if is_a(found, kind):
            with suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return read(found)
    return None


def is_a(found: Any, wanted: str) -> bool:
    """Whether a class of this name is among those that the object's class inherits from, without an import."""
    module, _, name = wanted.rpartition(".")
    root = module.partition(".")[0]
    return any(one.__name__ == name and one.__module__.partition(".")[0] == root for one in type(found).__mro__)


def _transformers(tokenizer: Any) -> Vocabulary:
    special = frozenset(int(one) for one in tokenizer.all_special_ids)
    template = getattr(tokenizer, "chat_template", None)

    def decode(number: int) -> str:
        raw = tokenizer.convert_ids_to_tokens(number)
        if number in special or raw is None:
            return str(raw or "")
        if "▁" in raw:
            return str(raw.replace("▁", " "))
        return str(raw[2:]) if raw.startswith("##") else before + str(tokenizer.decode([number]))

    words = (tokenizer.convert_ids_to_tokens(number) for number in range(min(len(tokenizer), MAX_TRIED)))
    before = _between(enumerate(words), special, tokenizer.decode)
    return Vocabulary(
        kind=type(tokenizer).__name__,
        size=len(tokenizer),
        decode=decode,
        pad=tokenizer.pad_token_id,
        eos=tokenizer.eos_token_id,
        bos=tokenizer.bos_token_id,
        special=special | _control(getattr(tokenizer, "added_tokens_decoder", {})),
        adds_bos=_adds_bos(getattr(tokenizer, "backend_tokenizer", None), tokenizer.bos_token_id),
        template=template_of(tokenizer) if template else None,
        has_template=bool(template),
    )


def _tokenizers(tokenizer: Any) -> Vocabulary:
    known = tokenizer.get_vocab(with_added_tokens=True)
    special = _control(tokenizer.get_added_tokens_decoder())

    def decode(number: int) -> str:
        raw = str(tokenizer.id_to_token(number) or "")
        if number in special or "▁" in raw:
            return raw.replace("▁", " ")
        return before + str(tokenizer.decode([number], skip_special_tokens=False))

    words = ((number, tokenizer.id_to_token(number)) for number in range(min(len(known), MAX_TRIED)))
    before = _between(words, special, tokenizer.decode)
    bos = _named(known, BOS_NAMES)
    return Vocabulary(
        kind="Tokenizer",
        size=tokenizer.get_vocab_size(),
        decode=decode,
        pad=_named(known, PAD_NAMES),
        eos=_named(known, EOS_NAMES),
        bos=bos,
        special=special | {one for one in (bos, _named(known, EOS_NAMES), _named(known, PAD_NAMES)) if one is not None},
        adds_bos=_adds_bos(tokenizer, bos),
    )


def _between(words: Iterable[tuple[int, Any]], special: frozenset[int], decode: Callable[[list[int]], str]) -> str:
    """What is written between two tokens that are whole words: a space, where tokens carry none of their own."""
    plain = [number for number, word in words if isinstance(word, str) and word.isalnum() and number not in special]
    pair = plain[-2:]
    return " " if len(pair) == 2 and decode(pair) == " ".join(decode([one]) for one in pair) else ""


def _tiktoken(encoding: Any) -> Vocabulary:
    special = dict(encoding._special_tokens)
    return Vocabulary(
        kind="Encoding",
        size=encoding.n_vocab,
        decode=lambda number: encoding.decode_single_token_bytes(number).decode("utf-8", "replace"),
        eos=special.get("<|endoftext|>"),
        special=frozenset(special.values()),
        adds_bos=False,
    )


def _sentencepiece(processor: Any) -> Vocabulary:
    ids = {name: getattr(processor, f"{name}_id")() for name in ("pad", "eos", "bos", "unk")}
    known = {name: number if number >= 0 else None for name, number in ids.items()}
    return Vocabulary(
        kind="SentencePieceProcessor",
        size=processor.get_piece_size(),
        decode=lambda number: processor.id_to_piece(number).replace("▁", " "),
        pad=known["pad"],
        eos=known["eos"],
        bos=known["bos"],
        special=frozenset(number for number in known.values() if number is not None),
    )


def of_script(found: Any, size: int) -> Vocabulary | None:
    """A dict or list of the script that gives the text of every number below `size`, or the number of every text."""
    by_number = _by_number(found, size)
    if by_number is None:
        return None
    known = {text: number for number, text in by_number.items()}
    pad, eos, bos = (_named(known, names) for names in (PAD_NAMES, EOS_NAMES, BOS_NAMES))
    return Vocabulary(
        kind=type(found).__name__,
        size=size,
        decode=lambda number: by_number.get(number, ""),
        pad=pad,
        eos=eos,
        bos=bos,
        special=frozenset(number for number in (pad, eos, bos) if number is not None),
        library=False,
    )


def _by_number(found: Any, size: int) -> dict[int, str] | None:
    if type(found) in (list, tuple) and len(found) == size:
        return dict(enumerate(found)) if all(isinstance(one, str) for one in found) else None
    if isinstance(found, dict) and len(found) == size:
        items = list(found.items())
        if all(isinstance(key, str) and type(value) is int for key, value in items):
            items = [(value, key) for key, value in items]
        if all(type(key) is int and 0 <= key < size and isinstance(value, str) for key, value in items):
            return {int(key): value for key, value in items}
    return None


def _named(known: Mapping[str, int], names: Sequence[str]) -> int | None:
    return next((known[name] for name in names if name in known), None)


def _control(added: Any) -> frozenset[int]:
    """The added tokens that stand for something else than their text, as <|im_start|>."""
    return frozenset(int(number) for number, token in dict(added).items() if getattr(token, "special", False))


def _adds_bos(backend: Any, bos: int | None) -> bool | None:
    """Whether a text is given a begin-of-sequence token by the tokenizer itself: what its part in Rust, which has no
    state, makes of a letter."""
    if bos is None or not is_a(backend, "tokenizers.Tokenizer"):
        return None
    return bool(backend.encode("a", add_special_tokens=True).ids[:1] == [bos])
