"""The router loss of Mixtral in transformers 4.36."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="mixtral-balancing-loss-constant",
    title="Mixtral's load-balancing loss is computed wrongly",
    kind="fault",
    affects=("transformers==4.36.*",),
    signature=Signature(settings={"model_type": "mixtral", "output_router_logits": "true"}),
    shows_if="a Mixtral model is trained with `output_router_logits=True`",
    happens="The auxiliary loss comes out as a constant, so nothing keeps the experts balanced.",
    do="Upgrade transformers to a release with pull request 28256.",
    source="https://github.com/huggingface/transformers/issues/28255",
    example=Example(
        versions={"transformers": "4.36.2"},
        outside={"transformers": "4.40.1"},
        settings={"model_type": "mixtral", "output_router_logits": True},
    ),
)
