"""The families of the zoo of language models: one program a style, the faults each may have and the causes that name
them. `python benchmarks/rl_zoo/make.py --zoo lm_zoo --work DIR` makes the runs."""

from __future__ import annotations

NEEDS = ("torch", "transformers", "tokenizers", "datasets")
# program → its packages, and the causes of each fault
FAMILIES: dict[str, tuple[tuple[str, ...], dict[str, tuple[str, ...]]]] = {
    "trainer_words": (NEEDS, {
        "eos": ("eos-not-a-target",), "shifted": ("target-not-shifted",), "rate": ("lr-too-high",),
        "schedule": ("lr-decayed-too-early",), "leak": ("train-val-leak",), "ignored": ("no-target-tokens",),
    }),
    "trl_words": ((*NEEDS, "trl", "peft"), {
        "cut": ("no-target-tokens",), "prompt": ("prompt-in-loss",), "tokens": ("new-token-embeddings-untrained",),
        "scale": ("adapter-scale-wrong",), "blocks": ("adapter-not-attached",),
    }),
    "loop_words": ((*NEEDS, "peft"), {
        "padding": ("padding-not-masked",), "optimizer": ("params-not-in-optimizer", "adapter-not-attached"),
        "frozen": ("adapter-not-attached", "frozen-params"), "means": ("loss-not-token-weighted",),
        "scale": ("adapter-scale-wrong",), "tokens": ("new-token-embeddings-untrained",),
        "repeat": ("same-batch-forever",), "gradients": ("missing-zero-grad",),
    }),
}  # fmt: skip
