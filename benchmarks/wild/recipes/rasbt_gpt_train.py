"""Chapter 5 of "Build a Large Language Model (From Scratch)": a GPT trained on one book by a plain loop, with samples
after each epoch."""

import shutil
from pathlib import Path

from data import text
from recipe import Recipe, Result

MODULE = '''import tiktoken


def get_encoding(name):
    """Bytes as tokens, in place of GPT-2's, which tiktoken would download."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    return tiktoken.Encoding(name, pat_str=r"[\\\\s\\\\S]", mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 256})
'''  # noqa: E501
FOLDER = "ch05/01_main-chapter-code"


def prepare(place: Path) -> None:
    for path in place.iterdir():
        if path.name != "ch05":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in (place / "ch05").iterdir():
        if path.name != "01_main-chapter-code":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    text(place / FOLDER / "the-verdict.txt", lines=900)
    (place / FOLDER / "local_tokens.py").write_text(MODULE.replace("\\\\", "\\"), "utf-8")


RECIPE = Recipe(
    repository="rasbt/LLMs-from-scratch",
    commit="28c65cdfbc3338e2e040016eea4b7fdf556e4d57",
    kind="language model, own loop",
    needs=("tiktoken", "matplotlib", "requests"),
    folder=FOLDER,
    command=("gpt_train.py",),
    files=(f"{FOLDER}/gpt_train.py", f"{FOLDER}/previous_chapters.py"),
    shorten=(
        (
            f"{FOLDER}/gpt_train.py",
            r'tiktoken\.get_encoding\("gpt2"\)',
            '__import__("local_tokens").get_encoding("gpt2")',
        ),
        (
            f"{FOLDER}/previous_chapters.py",
            r'(    # Initialize the tokenizer\n    tokenizer = )tiktoken\.get_encoding\("gpt2"\)',
            r'\1__import__("local_tokens").get_encoding("gpt2")',
        ),
        (f"{FOLDER}/gpt_train.py", r'"vocab_size": 50257', '"vocab_size": 257'),
        (f"{FOLDER}/gpt_train.py", r'"context_length": 256', '"context_length": 64'),
        (f"{FOLDER}/gpt_train.py", r'"emb_dim": 768', '"emb_dim": 64'),
        (f"{FOLDER}/gpt_train.py", r'"n_heads": 12', '"n_heads": 4'),
        (f"{FOLDER}/gpt_train.py", r'"n_layers": 12', '"n_layers": 2'),
        (f"{FOLDER}/gpt_train.py", r'"num_epochs": 10', '"num_epochs": 4'),
        (f"{FOLDER}/gpt_train.py", r'"batch_size": 2,', '"batch_size": 8,'),
    ),
    seconds=12,
    prepare=prepare,
    result=Result(r"Val loss ([\d.]+)", "lower"),
)
