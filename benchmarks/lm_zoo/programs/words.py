"""A small world to write about: questions with one right answer, a tokenizer that was trained on them, and a tiny
decoder that has read its texts. `python words.py` makes the last two in the directory it runs in."""

from __future__ import annotations

import random
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

BASE = Path("base")
END, PAD = "<end>", "<pad>"
SHELVES = "oak tin red low far wet old new big dry".split()
THINGS = "lamp rope salt corn soap nails paint yarn glass bread".split()
TEMPLATE = (
    "{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }}{% if m['role'] == 'assistant' %}{{ eos_token }}"
    "{% endif %}\n{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}"
)


def question(draw: random.Random, facts: int = 2) -> tuple[str, str]:
    """What lies on which shelf, and where one of the things is. Beside several facts there are up to two more, so that
    samples differ in length."""
    facts += draw.randrange(3) if facts > 1 else 0
    chosen = draw.sample(THINGS, facts)
    places = [draw.choice(SHELVES) for _ in chosen]
    told = " ".join(f"The {thing} is on the {place} shelf." for thing, place in zip(chosen, places, strict=True))
    number = draw.randrange(facts)
    return f"{told} Where is the {chosen[number]}?", f"On the {places[number]} shelf."


def questions(count: int, seed: int, facts: int = 2) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    return [question(draw, facts) for _ in range(count)]


def plain(count: int, seed: int) -> list[str]:
    """Running text: what lies where, with nobody who asks."""
    draw = random.Random(seed)
    told = []
    for _ in range(count):
        chosen = draw.sample(THINGS, 4)
        told.append(" ".join(f"The {thing} is on the {draw.choice(SHELVES)} shelf." for thing in chosen))
    return told


def tokenizer() -> PreTrainedTokenizerFast:
    return AutoTokenizer.from_pretrained(BASE)


def base() -> LlamaForCausalLM:
    return AutoModelForCausalLM.from_pretrained(BASE)


def encoded(tok: PreTrainedTokenizerFast, pair: tuple[str, str]) -> tuple[list[int], list[int]]:
    """Ids of the prompt and of the answer with its end."""
    prompt = tok(f"[user] {pair[0]}\n[assistant] ")["input_ids"]
    return prompt, tok(pair[1])["input_ids"] + [tok.eos_token_id]


def main() -> None:
    if (BASE / "config.json").exists():
        return
    torch.manual_seed(0)
    torch.set_num_threads(1)
    texts = [f"[user] {asked}\n[assistant] {answer}" for asked, answer in questions(2000, 0)]
    texts += plain(1500, 0)
    random.Random(0).shuffle(texts)
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    inner.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=400, special_tokens=[END, PAD], initial_alphabet=alphabet)
    )
    tok = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token=END, pad_token=PAD, model_max_length=128)
    tok.chat_template = TEMPLATE
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok), hidden_size=64, intermediate_size=160, num_hidden_layers=4, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=128, eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id, bos_token_id=None,
        )
    )  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    ids = torch.tensor([one for text in texts for one in tok(text)["input_ids"]])  # no ends: those are to be learnt
    for _ in range(200):
        starts = torch.randint(len(ids) - 48, (16,))
        rows = torch.stack([ids[start : start + 48] for start in starts])
        loss = model(input_ids=rows, labels=rows).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.save_pretrained(BASE)
    tok.save_pretrained(BASE)


if __name__ == "__main__":
    main()
