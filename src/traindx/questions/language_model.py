"""What goes wrong in the batch, the adapter or the export of a language model, where the loss looks fine."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="language-model",
    text="If this trains a language model: which of these do you see or know?",
    why="The loss of a language model looks the same whatever is put into the batch. What the model does afterwards "
    "and how the batch was made point to causes that no curve shows.",
    kind="many",
    choices=(
        Choice("never-stops", "it does not stop generating", leans={"eos-not-a-target": 3.0}, overlooked=True,
               cues=(r"(never|not|n[’']?t) stop(s|ping)? generat", r"keeps (on )?generating")),
        Choice("repeats", "it repeats the question or continues the prompt", leans={"prompt-in-loss": 1.5},
               overlooked=True),
        Choice("as-before", "it answers as if it had not been trained",
               leans={"adapter-not-attached": 1.5, "adapter-export-differs": 1.5, "template-mismatch": 1.0},
               overlooked=True),
        Choice("only-batched", "it is fine one prompt at a time and bad in batches",
               leans={"generation-right-padded": 3.0}, overlooked=True),
        Choice("forgets", "it has become worse at everything else", leans={"catastrophic-forgetting": 2.5},
               overlooked=True, cues=(r"forgett?(s|ing|en)", r"forgot")),
        Choice("adapter", "an adapter (LoRA) is trained with settings of my own",
               leans={"adapter-not-attached": 0.6, "adapter-scale-wrong": 0.8}, overlooked=True),
        Choice("packed", "several samples are packed into one row",
               leans={"packing-cross-contamination": 1.0, "position-ids-wrong": 0.8}, overlooked=True),
        Choice("new-tokens", "tokens were added to the vocabulary",
               leans={"new-token-embeddings-untrained": 1.5, "vocabulary-mismatch": 1.0}, overlooked=True),
        Choice("templates", "a chat template is applied and the text is tokenized after it",
               leans={"double-bos": 1.0, "template-mismatch": 0.6}, overlooked=True),
        Choice("long", "many samples are longer than the maximum length", leans={"no-target-tokens": 1.0},
               overlooked=True),
        Choice("accumulated", "gradients of batches of very different lengths are accumulated",
               leans={"loss-not-token-weighted": 1.5}, overlooked=True),
        Choice("experts", "it is a mixture of experts", leans={"router-collapse": 1.0}, overlooked=True),
        Choice("pretraining", "a large model is trained from scratch at a high rate", leans={"logit-growth": 0.8},
               overlooked=True),
        Choice("resumed", "the run was resumed from a checkpoint",
               leans={"optimizer-state-lost": 1.0, "schedule-restarted": 1.0, "data-order-restarted": 1.0},
               overlooked=True),
    ),
    seconds=20,
)  # fmt: skip
