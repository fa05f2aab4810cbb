"""conv3d in torch 2.9."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="torch-conv3d-memory-2-9",
    title="3-d convolutions need several times the memory",
    kind="fault",
    affects=("torch==2.9.0 or torch==2.9.1",),
    signature=Signature(text=(r"\bconv3d\(", "out of memory")),
    shows_if="`conv3d` runs in bfloat16 or float16 with cuDNN before 9.15",
    happens="torch avoids a faulty cuDNN kernel and takes another way that needs much more memory.",
    do="Install cuDNN 9.15 or later (nvidia-cudnn-cu12 from PyPI) with torch 2.9.1.",
    source="https://github.com/pytorch/pytorch/issues/166643",
    example=Example(
        versions={"torch": "2.9.1+cu128"},
        outside={"torch": "2.8.0"},
        lines=("    return F.conv3d(", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.06 GiB"),
    ),
)
