"""The families of the zoo of language models: one program a style, the faults each may have and the causes that name
them. What has no cause is sound and looks odd. `python benchmarks/rl_zoo/make.py --zoo lm_zoo --work DIR` makes the
runs."""

from __future__ import annotations

NEEDS = ("torch", "transformers", "tokenizers", "datasets", "peft")
EVERYWHERE: dict[str, tuple[str, ...]] = {
    "eos": ("eos-not-a-target",), "ignored": ("no-target-tokens",), "cut": ("no-target-tokens",),
    "prompt": ("prompt-in-loss",), "shifted": ("target-not-shifted",), "padding": ("padding-not-masked",),
    "left": ("attention-mask-missing",), "positions": ("position-ids-wrong",),
    "packed": ("packing-cross-contamination",), "template": ("template-mismatch", "val-preprocessing-mismatch"),
    "leak": ("train-val-leak",), "order": ("not-shuffled",), "forgets": ("catastrophic-forgetting",),
    "rate": ("lr-too-high",), "schedule": ("lr-decayed-too-early",),
    "tokens": ("new-token-embeddings-untrained",), "scale": ("adapter-scale-wrong",),
    "slow": ("adapter-scale-wrong", "lr-too-low"), "blocks": ("adapter-not-attached",),
    "frozen": ("adapter-not-attached", "frozen-params"),
    # sound, and looks odd
    "near-zero": (), "continued": (), "backbone": (), "prompt-long": (), "packed-apart": (), "left-right": (),
    "smoothing": (), "lora-2e-4": (), "checkpointing": (),
}  # fmt: skip
# program → its packages, and the causes of each fault
FAMILIES: dict[str, tuple[tuple[str, ...], dict[str, tuple[str, ...]]]] = {
    "trainer_words": (NEEDS, EVERYWHERE),
    "trl_words": ((*NEEDS, "trl"), EVERYWHERE),
    "loop_words": (NEEDS, EVERYWHERE | {
        "optimizer": ("params-not-in-optimizer", "adapter-not-attached"), "means": ("loss-not-token-weighted",),
        "repeat": ("same-batch-forever",), "gradients": ("missing-zero-grad",),
    }),
}  # fmt: skip
