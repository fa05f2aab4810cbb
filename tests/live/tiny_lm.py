"""Tiny language models, tokenizers and texts for tests: nothing is downloaded, every builder takes well under a
second."""

from __future__ import annotations

import random
from typing import Any

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{% if message['role'] == 'assistant' %}"
    "{% generation %}{{ message['content'] }}<|im_end|>{% endgeneration %}{% else %}{{ message['content'] }}<|im_end|>"
    "{% endif %}\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NOUNS = "river stone garden window letter market bridge engine teacher forest island ticket".split()
VERBS = "carries follows opens paints repairs visits measures remembers hides builds".split()
PLACES = "in the morning,near the harbour,behind the old mill,after the long winter,on the hill".split(",")


def sentence(chance: random.Random) -> str:
    one, other = chance.sample(NOUNS, 2)
    return f"The {one} {chance.choice(VERBS)} the {other} {chance.choice(PLACES)}."


def texts(count: int, seed: int = 0, sentences: tuple[int, int] = (2, 6)) -> list[str]:
    """Running text of different lengths."""
    chance = random.Random(seed)
    return [" ".join(sentence(chance) for _ in range(chance.randint(*sentences))) for _ in range(count)]


def pairs(count: int, seed: int = 0, answer_sentences: tuple[int, int] = (1, 2)) -> list[tuple[str, str]]:
    """Questions with answers that follow from them."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        noun, place = chance.choice(NOUNS), chance.choice(PLACES)
        many = chance.randint(*answer_sentences)
        answer = " ".join(f"The {noun} {chance.choice(VERBS)} the {chance.choice(NOUNS)} {place}." for _ in range(many))
        found.append((f"What does the {noun} do {place}? Please give a short answer about the {noun}.", answer))
    return found


def messages(count: int, seed: int = 0, **options: Any) -> list[list[dict[str, str]]]:
    return [
        [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        for question, answer in pairs(count, seed, **options)
    ]


def tokenizer(
    *, template: str | None = CHATML, adds_bos: bool = False, pad_is_eos: bool = False, size: int = 400
) -> Any:
    """A byte-level tokenizer trained on these texts. Its end-of-sequence token is that of the template's turns."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["<pad>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"]
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    corpus = [
        *texts(200, 7),
        *(" ".join(pair) for pair in pairs(200, 7)),
        "user assistant system ### Instruction: Response:",
    ]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    raw.train_from_iterator(
        corpus,
        trainers.BpeTrainer(vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False),
    )
    if adds_bos:
        number = raw.token_to_id("<s>")
        raw.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", number)]
        )
    end = "<|im_end|>" if template == CHATML else "</s>"
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token=end if pad_is_eos else "<pad>", eos_token=end, bos_token="<s>",
        additional_special_tokens=["<|im_start|>", "<|im_end|>"],
    )  # fmt: skip
    wrapped.chat_template = template
    return wrapped


def llama(vocabulary: int, *, layers: int = 2, width: int = 32, length: int = 512) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary, hidden_size=width, intermediate_size=2 * width, num_hidden_layers=layers,
            num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=length,
            pad_token_id=None, bos_token_id=None, eos_token_id=None,
        )
    )  # fmt: skip


def gpt2(vocabulary: int, *, layers: int = 2, width: int = 32, length: int = 256) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocabulary, n_embd=width, n_layer=layers, n_head=2, n_positions=length,
            bos_token_id=None, eos_token_id=None,
        )
    )  # fmt: skip
