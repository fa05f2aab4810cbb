"""The cuDNN attention kernel of torch 2.11."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="torch-sdpa-cudnn-nan-gradient",
    title="cuDNN attention gives NaN gradients for some lengths",
    kind="fault",
    affects=("torch==2.11.*",),
    signature=Signature(
        settings={
            "attn_implementation|_attn_implementation|attention_implementation": "sdpa",
            "gpu|gpu_name|gpu_type|device_name": r".*\bh[12]00\b.*",
        },
        symptoms=("nonfinite-gradient",),
    ),
    shows_if="attention with a mask runs on H100 or H200 and the sequence length leaves 64 when divided by 128",
    happens="The backward pass of the default cuDNN kernel returns NaN for the queries; the forward pass is fine.",
    do=(
        "Pad sequences to a multiple of 128, or choose the efficient or math kernel with "
        "torch.nn.attention.sdpa_kernel."
    ),
    source="https://github.com/pytorch/pytorch/issues/196678",
    example=Example(
        versions={"torch": "2.11.0+cu130"},
        outside={"torch": "2.10.0"},
        settings={"attn_implementation": "sdpa", "gpu_name": "NVIDIA H100 80GB HBM3"},
        symptoms=("nonfinite-gradient",),
    ),
)
