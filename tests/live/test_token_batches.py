"""What the loss of a language model sees: real batches of tiny models, with one fault each and their sound twins."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from live_scripts import facts_of, present, run

from traindx.live.tokens.batch import TokenBatch
from traindx.live.tokens.rows import read_row
from traindx.live.tokens.template import answers_in
from traindx.live.tokens.vocabulary import vocabulary_of
from traindx.measurements import Measured, SpecialTokens, TokenCounts, TokenSamples
from traindx.readers.find import find_runs

pytest.importorskip("transformers")

OF_TOKENS = {
    "no-counted-tokens", "answers-cut-off", "eos-never-counted", "prompt-dominates-loss", "special-tokens-doubled",
    "template-differs", "padding-on-the-wrong-side", "documents-not-separated", "positions-not-restarted",
    "padding-in-loss", "targets-not-next-token", "validation-seen-in-training", "data-in-order", "padding-attended",
}  # fmt: skip

HEAD = """
import random, tiny_lm as lm
random.seed(0)
def padded(tok, rows, labels=None, side="right"):
    longest = max(map(len, rows))
    def fill(row, value):
        more = [value] * (longest - len(row))
        return row + more if side == "right" else more + row
    batch = {"input_ids": torch.tensor([fill(row, tok.pad_token_id) for row in rows]),
             "attention_mask": torch.tensor([fill([1] * len(row), 0) for row in rows])}
    if labels is not None:
        batch["labels"] = torch.tensor([fill(row, -100) for row in labels])
    return batch
def chats(tok, count=48, **options):
    found = []
    for chat in lm.messages(count, **options):
        ids = tok.apply_chat_template(chat, return_dict=True)["input_ids"]
        asked = len(tok.apply_chat_template(chat[:1], add_generation_prompt=True, return_dict=True)["input_ids"])
        found.append((ids, [-100] * asked + ids[asked:]))
    return found
def train(model, batches, loss_of=lambda model, batch: model(**batch).loss, steps=4):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(steps):
        loss = loss_of(model, batches())
        optimizer.zero_grad(); loss.backward(); optimizer.step()
"""
CHAT = """
tok = lm.tokenizer(); model = lm.llama(len(tok)); data = chats(tok)
def batch():
    chosen = random.sample(data, 8)
    return padded(tok, [ids for ids, _ in chosen], [labels for _, labels in chosen])
"""
TEXT = """
tok = lm.tokenizer(template=None); model = lm.gpt2(len(tok))
data = [tok(text + tok.eos_token)["input_ids"] for text in lm.texts(48)]
def batch():
    given = padded(tok, random.sample(data, 8))
    given["labels"] = given["input_ids"].masked_fill(given["attention_mask"] == 0, -100)
    return given
"""
CHARS = """
text = " ".join(lm.texts(40)); chars = sorted(set(text)); stoi = {one: number for number, one in enumerate(chars)}
stream = torch.tensor([stoi[one] for one in text])
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.cell, self.out = nn.Embedding(len(chars), 16), nn.GRU(16, 16, batch_first=True), nn.Linear(16, len(chars))
    def forward(self, x):
        return self.out(self.cell(self.table(x))[0])
model = Model()
def batch():
    places = torch.randint(len(stream) - 33, (8,)).tolist()
    return torch.stack([stream[at:at + 32] for at in places]), torch.stack([stream[at + 1:at + 33] for at in places])
"""  # noqa: E501
ALPACA = """
tok = lm.tokenizer(template=None); model = lm.llama(len(tok))
data = [(tok(f"### Instruction:\\n{ask}\\n\\n### Response:\\n")["input_ids"], tok(answer + tok.eos_token)["input_ids"])
        for ask, answer in lm.pairs(200)]
"""
PACKED = (
    ALPACA
    + """
ids, labels, places = [], [], []
for ask, answer in data:
    ids += ask + answer; labels += [-100] * len(ask) + answer; places += range(len(ask) + len(answer))
rows = [tuple(one[at:at + 128] for one in (ids, labels, places)) for at in range(0, len(ids) - 128, 128)]
def batch():
    given = [torch.tensor(list(one)) for one in zip(*random.sample(rows, 8))]
    return dict(zip(("input_ids", "labels", "position_ids"), given))
"""
)

LEFT = CHAT.replace(" for _, labels in chosen])", ' for _, labels in chosen], side="left")')
JOINED = """
tok = lm.tokenizer(template=None); model = lm.llama(len(tok))
stream, labels = [], []
for ask, answer in lm.pairs(300):
    ask, answer = tok(f"Question: {ask} Answer:")["input_ids"], tok(" " + answer)["input_ids"]
    stream += ask + answer; labels += [-100] * len(ask) + answer
def batch():
    places = [random.randrange(len(stream) - 160) for _ in range(8)]
    return {"input_ids": torch.tensor([stream[at:at + 160] for at in places]),
            "labels": torch.tensor([labels[at:at + 160] for at in places])}
"""

STARTED = """
tok = lm.tokenizer(template=None); model = lm.llama(len(tok))
def sample(ask, answer):
    ask, answer = (tok(text)["input_ids"] for text in (f"### Instruction:\\n{ask}\\n\\n### Response:\\n", answer))
    return START + ask + answer + [tok.eos_token_id], [-100] * len(START + ask) + answer + [tok.eos_token_id]
data = [sample(*pair) for pair in lm.pairs(200)]
def batch():
    groups = [random.sample(data, random.randint(2, 4)) for _ in range(8)]
    return padded(tok, *([sum((one[part] for one in group), []) for group in groups] for part in (0, 1)))
"""
LEARNED = LEFT.replace("lm.llama(", "lm.gpt2(")
FROM_THE_MASK = """
whole = batch
def batch():
    given = whole(); return {**given, "position_ids": (given["attention_mask"].cumsum(-1) - 1).clamp(min=0)}
"""

FAULTS = {
    "positions that count padding, each with an embedding": ("positions-not-restarted", LEARNED),
    "padding before the samples is attended to": (
        "padding-attended",
        LEFT + "whole = batch\ndef batch():\n    return {k: v for k, v in whole().items() if k != 'attention_mask'}",
    ),
    "windows over joined samples, and nothing between them": ("documents-not-separated", JOINED),
    "the end is masked with the padding": (
        "eos-never-counted",
        CHAT.replace("lm.tokenizer()", "lm.tokenizer(pad_is_eos=True)")
        + "data = [(ids, [-100 if one == tok.pad_token_id else one for one in labels]) for ids, labels in data]",
    ),
    "no answer has an end": (
        "eos-never-counted",
        ALPACA
        + """
def batch():
    chosen = [(ask, answer[:-1]) for ask, answer in random.sample(data, 8)]
    return padded(tok, [ask + answer for ask, answer in chosen], [[-100] * len(ask) + answer for ask, answer in chosen])
""",
    ),
    "labels are a copy of the input": ("prompt-dominates-loss", CHAT + "data = [(ids, ids) for ids, _ in data]"),
    "the length ends before the answers": (
        "no-counted-tokens",
        CHAT + "data = [(ids[:33], labels[:33]) for ids, labels in data]",
    ),
    "long answers are cut": (
        "answers-cut-off",
        CHAT.replace("chats(tok)", "chats(tok, answer_sentences=(1, 6))")
        + "data = [(ids[:64], labels[:64]) for ids, labels in data]",
    ),
    "begin-of-sequence twice": (
        "special-tokens-doubled",
        CHAT + "data = [([tok.bos_token_id] * 2 + ids, [-100] * 2 + labels) for ids, labels in data]",
    ),
    "another format than the tokenizer's": (
        "template-differs",
        ALPACA.replace("template=None", "")
        + """
def batch():
    chosen = random.sample(data, 8)
    return padded(tok, [ask + answer for ask, answer in chosen], [[-100] * len(ask) + answer for ask, answer in chosen])
""",
    ),
    "answers shifted twice": (
        "targets-not-next-token",
        CHAT + "data = [(ids, labels[1:] + [-100]) for ids, labels in data]",
    ),
    "padding counts": (
        "padding-in-loss",
        TEXT.replace("lm.texts(48)", "lm.texts(48, sentences=(1, 9))").replace(
            '.masked_fill(given["attention_mask"] == 0, -100)', ".clone()"
        ),
    ),
    "position ids stay 0": (
        "positions-not-restarted",
        TEXT.replace("return given", 'return {**given, "position_ids": torch.zeros_like(given["input_ids"])}'),
    ),
    "packed beside padding, each sample with its own begin": (
        "documents-not-separated",
        "START = [1]\n" + STARTED,
    ),
    "packed without boundaries": (
        "documents-not-separated",
        PACKED.replace('"labels", "position_ids"', '"labels"'),
    ),
}  # fmt: skip
SOUND = {
    "padding before the samples is hidden": LEFT,
    "answers of a chat": CHAT,
    "prompts counted, long answers": CHAT.replace("chats(tok)", "chats(tok, answer_sentences=(5, 9))")
    + "data = [(ids, ids) for ids, _ in data]",
    "texts with an end": TEXT,
    "raw texts without an end": TEXT.replace(" + tok.eos_token", ""),
    "characters": CHARS,
    # with a cache, transformers takes position ids for those of one document
    "packed with position ids that begin again": PACKED + "model.config.use_cache = False",
    "turns of a conversation beside padding": "START = []\n" + STARTED,
    "packed with a model that separates documents": PACKED
    + """
class Separating(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.layer = nn.Embedding(len(tok), 16), nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.out = nn.Linear(16, len(tok))
    def forward(self, input_ids, labels):
        ended = (input_ids == tok.eos_token_id).long()
        document = ended.cumsum(1) - ended
        seen = (document[:, :, None] == document[:, None, :]) & torch.ones(128, 128, dtype=torch.bool).tril()
        scores = self.out(self.layer(self.table(input_ids), ~seen.repeat_interleave(2, 0)))
        return F.cross_entropy(scores[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
model, plain = Separating(), batch
def batch():
    return {name: one for name, one in plain().items() if name != "position_ids"}
""",
    "texts packed with an end between them": TEXT
    + """
stream = torch.tensor([one for row in data for one in row])
def batch():
    rows = torch.stack([stream[at:at + 64] for at in torch.randint(len(stream) - 64, (8,)).tolist()])
    return {"input_ids": rows, "labels": rows}
""",
    "masked language modelling": TEXT
    + """
from transformers import BertConfig, BertForMaskedLM
model = BertForMaskedLM(BertConfig(vocab_size=len(tok), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                                   intermediate_size=32, pad_token_id=0))
plain = batch
def batch():
    given = plain(); hidden = (torch.rand(given["input_ids"].shape) < 0.15) & (given["labels"] != -100)
    given["labels"] = given["labels"].masked_fill(~hidden, -100)
    given["input_ids"] = given["input_ids"].masked_fill(hidden, 5)
    return given
""",
    "encoder and decoder": ALPACA
    + """
from transformers import T5Config, T5ForConditionalGeneration
model = T5ForConditionalGeneration(T5Config(vocab_size=len(tok), d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2,
                                            decoder_start_token_id=0, pad_token_id=0))
def batch():
    chosen = random.sample(data, 8); given = padded(tok, [ask for ask, _ in chosen])
    given["labels"] = padded(tok, [answer for _, answer in chosen], [answer for _, answer in chosen])["labels"]
    return given
""",
    "classes of texts": TEXT
    + """
from transformers import LlamaConfig, LlamaForSequenceClassification
model = LlamaForSequenceClassification(LlamaConfig(vocab_size=len(tok), hidden_size=16, intermediate_size=32,
    num_labels=2,
    num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, pad_token_id=0))
plain = batch
def batch():
    return {**plain(), "labels": torch.randint(0, 2, (8,))}
""",
    "padding before the samples, positions from the mask": LEARNED + FROM_THE_MASK,
    "padding before the samples, rotary positions": LEFT,
    "conversations of several turns": CHAT
    + """
def joined(number):
    return tuple(data[number][part] + data[number + 1][part] for part in (0, 1))
data = [joined(number) for number in range(len(data) - 1)]
""",
    "answers of one word": ALPACA
    + """
def batch():
    chosen = [(ask, answer[:1]) for ask, answer in random.sample(data, 8)]
    return padded(tok, [ask + answer for ask, answer in chosen], [[-100] * len(ask) + answer for ask, answer in chosen])
""",
}  # fmt: skip
CHAR_LOSS = """
def loss_of(model, given):
    scores = model(given[0])
    return F.cross_entropy(scores.view(-1, len(chars)), given[1].view(-1))
"""


def script(body: str) -> str:
    loss = f"{CHAR_LOSS}\ntrain(model, batch, loss_of)" if CHARS in body else "\ntrain(model, batch)"
    if "class Separating" in body:
        loss = "\ntrain(model, batch, lambda model, given: model(**given))"
    return HEAD + body + "\n" + loss


def measured_in(body: str, folder: Path) -> Measured:
    run(body, folder / "run.traindx")
    return find_runs([folder / "run.traindx"])[0].measured[0]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_seen(name: str, tmp_path: Path) -> None:
    symptom, body = FAULTS[name]
    found = present(facts_of(script(body), tmp_path)) & OF_TOKENS
    assert symptom in found
    # an answer that is cut away is both
    assert found <= {symptom, "answers-cut-off"} | ({"no-counted-tokens"} if symptom == "answers-cut-off" else set())


@pytest.mark.parametrize("name", SOUND)
def test_sound_trainings_show_none(name: str, tmp_path: Path) -> None:
    assert not present(facts_of(script(SOUND[name]), tmp_path)) & OF_TOKENS


def test_a_chat_is_reconstructed_token_by_token(tmp_path: Path) -> None:
    measured = measured_in(script(CHAT), tmp_path)
    shown = measured.all(TokenSamples)[0]
    sample = shown.samples[0]
    assert (shown.shift, shown.ignore_index, shown.private) == (1, -100, False)
    text = "".join(sample.pieces)
    assert text.startswith("<|im_start|>user\nWhat does the")
    counted = "".join(piece for piece, one in zip(sample.pieces, sample.counted, strict=True) if one == "1")
    assert counted == text.partition("assistant\n")[2].rstrip("<pad>") or counted.rstrip("\n").endswith("<|im_end|>")
    assert set(sample.classes) <= set("psa-")
    assert all((loss is not None) == (one == "1") for loss, one in zip(sample.losses, sample.counted, strict=True))
    assert sample.attention.rstrip("0").count("0") == 0
    labels = [label for label, one in zip(sample.labels, sample.counted, strict=True) if one == "1"]
    assert labels == [number for number, one in zip(sample.ids, sample.counted, strict=True) if one == "1"]


def test_losses_of_tokens_are_those_of_the_loss(tmp_path: Path) -> None:
    printing = "loss = loss_of(model, batches()); print(loss.item())"
    said = run(script(CHAT).replace("loss = loss_of(model, batches())", printing), tmp_path / "run.traindx")
    measured = find_runs([tmp_path / "run.traindx"])[0].measured[0]
    losses = [one for sample in measured.all(TokenSamples)[0].samples for one in sample.losses if one is not None]
    assert sum(losses) / len(losses) == pytest.approx(float(said.split()[0]), rel=0.05)  # four of eight rows


def test_words_that_carry_no_space_are_written_apart() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<s>", "where", "is", "lamp", "?"]
    core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="?"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    vocabulary = vocabulary_of(PreTrainedTokenizerFast(tokenizer_object=core, bos_token="<s>"))
    assert vocabulary is not None
    assert "".join(vocabulary.pieces(range(5))) == "<s> where is lamp ?"


def test_the_space_before_a_word_belongs_to_the_word() -> None:
    """A template that ends its prompts with a space, and words that are written with one before them: the first word
    of an answer is no part of the prompt."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<pad>", "<|end|>", "<unk>", "<|user|>", "<|assistant|>", "where", "is", "lamp", "?", "it", "stands"]
    core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<|end|>", unk_token="<unk>",
        additional_special_tokens=["<|user|>", "<|assistant|>"],
    )  # fmt: skip
    tokenizer.chat_template = (
        "{% for m in messages %}<|{{ m['role'] }}|> {{ m['content'] }} <|end|> {% endfor %}"
        "{% if add_generation_prompt %}<|assistant|> {% endif %}"
    )
    ids = torch.tensor([[3, 5, 6, 7, 8, 1, 4, 9, 10, 1]])
    every = torch.ones_like(ids, dtype=torch.bool)
    row = read_row(TokenBatch(ids, ids, every, every, None, 1, (0, 9, 0), 11, -100, ""), 0, vocabulary_of(tokenizer))
    assert (row.known_by, row.boundary) == ("template", 7)


def test_the_answer_to_a_long_prompt_is_shown(tmp_path: Path) -> None:
    body = f"""{HEAD}
class Wrapped:
    def __init__(self, inner): self._inner = inner
class Recipe:
    def __init__(self): self._tokenizer = Wrapped(Wrapped(lm.tokenizer(template=None)))
recipe = Recipe(); model = lm.gpt2(400, length=512)
def batch():
    ids = torch.randint(10, 390, (2, 400)); labels = ids.clone(); labels[:, :380] = -100
    return {{"input_ids": ids, "labels": labels}}
train(model, batch)
"""
    shown = measured_in(body, tmp_path).all(TokenSamples)[0].samples[0]
    assert shown.first == 400 - 256
    assert shown.counted.count("1") == 20
    assert len(shown.pieces) == 256


def test_a_private_recording_holds_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINDX_PRIVATE", "1")
    sample = measured_in(script(CHAT), tmp_path).all(TokenSamples)[0].samples[0]
    assert not sample.pieces
    assert not sample.ids
    assert not sample.labels
    assert sample.classes.count("a") > 0
    assert "river" not in (tmp_path / "run.traindx" / "rank-0.jsonl").read_text()


def test_tables_that_are_stored_together_are_found(tmp_path: Path) -> None:
    body = f"""{HEAD}{CHARS}
meta = dict(stoi=stoi, vocab_size=len(chars)); del stoi, chars
train(model, batch, lambda model, given: F.cross_entropy(model(given[0]).flatten(0, 1), given[1].flatten()))
"""
    assert measured_in(body, tmp_path).all(TokenSamples)[0].samples[0].pieces


EACH = "F.cross_entropy(model(given[0]).flatten(0, 1), given[1].flatten(), reduction='none')"
PICKED = "model(given[0]).log_softmax(-1).gather(-1, given[1].unsqueeze(-1)).squeeze(-1)"
WRITTEN_OUT = {
    "filled": f"-({PICKED}.masked_fill(weight == 0, 0.0)).sum() / weight.sum()",
    "where": f"torch.where(weight.flatten() == 0, torch.zeros(()), {EACH}).sum() / weight.sum()",
    "gather": f"-({PICKED} * weight).sum() / weight.sum()",
    "mask": f"({EACH}.view(8, 32) * weight).sum()",
    "choice": f"{EACH}[weight.flatten() > 0].mean()",
}


@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_masks_that_are_multiplied_in_are_followed(name: str, tmp_path: Path) -> None:
    body = f"""{HEAD}{CHARS}
weight = torch.ones(8, 32); weight[:, :20] = 0
train(model, batch, lambda model, given: {WRITTEN_OUT[name]})
"""
    measured = measured_in(body, tmp_path)
    counts = measured.all(TokenCounts)[-1]
    assert counts.counted == counts.samples * 11  # the last target lies beyond the row
    assert counts.next == counts.counted
    assert measured.all(SpecialTokens)[-1].eos is None


@pytest.mark.parametrize("dim", [0, 1])
def test_losses_in_pieces_are_laid_together(dim: int, tmp_path: Path) -> None:
    """As losses are computed that save memory: some positions of each row at a time, or some rows."""
    body = f"""{HEAD}{CHARS}
def pieces(model, given):
    parts = zip(model(given[0]).chunk(3, {dim}), given[1].chunk(3, {dim}))
    total = sum(F.cross_entropy(out.flatten(0, 1), target.flatten(), reduction="sum") for out, target in parts)
    return total / given[1].numel()
train(model, batch, pieces)
"""
    measured = measured_in(body, tmp_path)
    counts, (sample, *_) = measured.all(TokenCounts)[-1], measured.all(TokenSamples)[0].samples
    assert counts.next == counts.counted == counts.samples * 31
    assert (None not in sample.losses[1:]) == (dim == 1)


def test_generation_is_compared_with_training(tmp_path: Path) -> None:
    ask = """
train(model, batch)
model.eval(); tok.padding_side = SIDE
texts = [tok.apply_chat_template(chat[:1], add_generation_prompt=OPENED, tokenize=False) for chat in lm.messages(6, 9)]
given = tok(texts, padding=True, return_tensors="pt", add_special_tokens=False, return_token_type_ids=False)
model.generate(**given, max_new_tokens=2, do_sample=False, pad_token_id=tok.pad_token_id)
"""
    for side, opened, wanted in (
        ("left", True, set()),
        ("right", True, {"padding-on-the-wrong-side"}),
        ("left", False, {"template-differs"}),
    ):
        body = HEAD + CHAT + ask.replace("SIDE", repr(side)).replace("OPENED", repr(opened))
        assert present(facts_of(body, tmp_path / f"{side}{opened}")) & OF_TOKENS == wanted


def test_how_a_model_is_asked_tells_where_answers_begin(tmp_path: Path) -> None:
    """Nothing in the batch says so: no template, no marker of a known format, no label that is left out."""
    body = f"""{HEAD}
tok = lm.tokenizer(template=None); model = lm.gpt2(len(tok)); ask = [50, 60, 70]
rows = [[random.randrange(100, 390) for _ in range(20)] + ask + [80 + number % 8, 90, 91, 2] for number in range(64)]
def batch():
    ids = torch.tensor(random.sample(rows, 8)); return {{"input_ids": ids, "labels": ids.clone()}}
train(model, batch)
model.generate(input_ids=torch.tensor([row[:23] for row in rows[:8]]), max_new_tokens=2, do_sample=False)
"""
    counts = measured_in(body, tmp_path).all(TokenCounts)[-1]
    assert (counts.known_by, counts.structured) == ("generation", counts.samples)
    assert counts.prompt_counted == counts.samples * 22  # the first token is no target
    assert counts.answer_counted == counts.samples * 4


def test_evaluated_texts_are_looked_for_in_training(tmp_path: Path) -> None:
    body = """
from torch.utils.data import DataLoader
tok = lm.tokenizer(template=None); model = lm.gpt2(len(tok))
texts = [[random.randrange(10, 390) for _ in range(random.randint(40, 60))] for _ in range(120)]
collate = lambda rows: padded(tok, rows, rows)
loader = DataLoader(texts[:80], 8, shuffle=True, collate_fn=collate)
held = DataLoader([[7] + row[3:] for row in SHOWN], 8, collate_fn=collate)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(2):
    for given in loader:
        loss = model(**given).loss; optimizer.zero_grad(); loss.backward(); optimizer.step()
    with torch.no_grad():
        for given in held:
            model(**given)
"""
    ahead = "\n    fetched = [*loader]\n    for given in fetched:"  # as trainers do that accumulate
    several = "random.seed(3); texts = [[n] + one for one in texts[:60] for n in range(9, 13)]; random.shuffle(texts)"
    preamble = "texts = [[*range(20, 220)] + one[:30] for one in texts]"
    few = "texts = [random.choice(texts[:20]) for _ in range(240)]"
    windows = (
        "stream = sum(texts[:56], []); texts = [stream[n : n + 96] for n in range(0, len(stream) - 95, 24)]\n"
        "random.shuffle(texts)"
    )
    for number, (shown, leaks, more) in enumerate((
        ("texts[40:80]", True, ""), ("texts[80:]", False, ""), ("texts[80:]", False, preamble),
        ("texts[80:]", True, several), ("texts[80:]", False, few), ("texts[80:]", True, windows),
    )):  # fmt: skip
        text = body.replace("SHOWN", shown).replace("collate =", f"{more}\ncollate =", 1)
        text = text.replace("\n    for given in loader:", ahead)
        facts = facts_of(HEAD + text, tmp_path / str(number))
        assert ("validation-seen-in-training" in present(facts)) == leaks


def test_lengths_in_order_are_seen(tmp_path: Path) -> None:
    body = """
from torch.utils.data import DataLoader
tok = lm.tokenizer(template=None); model = lm.gpt2(len(tok))
data = sorted((tok(text + tok.eos_token)["input_ids"] for text in lm.texts(120, sentences=(2, 9))), key=len)
loader = DataLoader(data, 4, shuffle=SHUFFLED, collate_fn=lambda rows: padded(tok, rows, rows))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for given in loader:
    loss = model(**given).loss; optimizer.zero_grad(); loss.backward(); optimizer.step()
"""
    for shuffled in (True, False):
        facts = facts_of(HEAD + body.replace("SHUFFLED", repr(shuffled)), tmp_path / str(shuffled))
        assert ("data-in-order" in present(facts)) != shuffled


@pytest.mark.parametrize("collated", ["by the loader", "by hand"])
def test_answers_in_order_are_seen(collated: str, tmp_path: Path) -> None:
    body = """
from torch.utils.data import DataLoader
tok = lm.tokenizer(template=None); model = lm.gpt2(len(tok))
def sample(answer):
    ids = [random.randrange(10, 390) for _ in range(random.randint(14, 18))]
    return {"input_ids": ids + answer, "labels": [-100] * len(ids) + answer}
data = [sample([20 + number // 40, 9]) for number in range(200)]
collate = lambda rows: padded(tok, [row["input_ids"] for row in rows], [row["labels"] for row in rows])
by_hand = COLLATED == "by hand"
loader = DataLoader(data, 4, shuffle=SHUFFLED, collate_fn=list if by_hand else collate)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(2):
    for given in loader:
        given = collate(given) if by_hand else given
        loss = model(**given).loss; optimizer.zero_grad(); loss.backward(); optimizer.step()
"""
    for shuffled in (True, False):
        text = body.replace("SHUFFLED", repr(shuffled)).replace("COLLATED", repr(collated))
        assert ("data-in-order" in present(facts_of(HEAD + text, tmp_path / str(shuffled)))) != shuffled


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("### Instruction:\nAdd 1.\n\n### Response:\n2", ["2"]),
        ("USER: hi ASSISTANT: hello USER: bye ASSISTANT: bye now", ["hello ", "bye now"]),
        ("[INST] hi [/INST] hello", ["hello"]),
        ("Question: why?\nAnswer: because", ["because"]),
        ("<|user|>\nhi\n<|assistant|>\nhello", ["hello"]),
        ("The answer: it was late, and the response: none.", None),
        ("A: one of two letters that stand for nothing", None),
    ],
)
def test_answers_are_found_by_common_markers(text: str, answers: list[str] | None) -> None:
    found = answers_in(text, None)
    assert (found and [text[slice(*span)] for span in found.spans]) == answers
