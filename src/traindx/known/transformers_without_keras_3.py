"""transformers 4 with Keras 3."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="transformers-without-keras-3",
    title="transformers 4 does not work with Keras 3",
    kind="clash",
    affects=("transformers>=4,<5", "tensorflow>=2.16"),
    signature=Signature(text=("installed version of Keras is Keras 3, but this is not yet supported in Transformers",)),
    shows_if="a TensorFlow model of transformers is imported without tf-keras",
    happens="TensorFlow 2.16 and later bring Keras 3, for which transformers has no TensorFlow models.",
    do="pip install tf-keras",
    source="https://github.com/huggingface/transformers/issues/34761",
    unmistakable=True,
    example=Example(
        versions={"transformers": "4.49.0", "tensorflow": "2.18.0"},
        outside={"transformers": "4.49.0", "tensorflow": "2.15.1"},
        lines=(
            (
                "ValueError: Your currently installed version of Keras is Keras 3, but this is not yet "
                "supported in Transformers."
            ),
        ),
    ),
)
