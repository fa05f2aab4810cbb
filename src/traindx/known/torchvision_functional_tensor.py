"""functional_tensor since torchvision 0.17."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="torchvision-functional-tensor",
    title="torchvision no longer has functional_tensor",
    kind="changed",
    affects=("torchvision>=0.17",),
    signature=Signature(text=(r"No module named 'torchvision\.transforms\.functional_tensor'",)),
    shows_if="basicsr or another library imports torchvision.transforms.functional_tensor",
    happens="torchvision 0.17 removed the module.",
    do="Install torchvision==0.16.2, or import from torchvision.transforms.functional.",
    source="https://github.com/xinntao/Real-ESRGAN/issues/777",
    unmistakable=True,
    example=Example(
        versions={"torchvision": "0.17.1"},
        outside={"torchvision": "0.16.2"},
        lines=("ModuleNotFoundError: No module named 'torchvision.transforms.functional_tensor'",),
    ),
)
