"""How many sentences about what people see the interview takes for what they mean.

    python benchmarks/interview/sentences.py

OPEN was used to mend it (4 of 27 at first sight), SEALED was written afterwards (17 of 26 at first sight; some of what
it missed was mended later, so that its figure now is one after mending)."""

from __future__ import annotations

from traindx.interview import recognise

OPEN = {
    "the network outputs the same value for every input": "same-output",
    "every prediction is identical": "same-output",
    "my model gives constant predictions": "same-output",
    "all outputs collapse to the mean": "same-output",
    "predictions are all zeros": "same-output",
    "the logits are the same for all samples": "same-output",
    "tanh units are saturated": "saturated",
    "my sigmoids saturate": "saturated",
    "activations are stuck at 1": "saturated",
    "activations clustered near -1 and 1": "saturated",
    "neurons are dying": "dead",
    "most neurons are dead": "dead",
    "is this double descent?": "double descent",
    "val loss went up and then down again as I made the model bigger": "double descent",
    "test error has a double-descent peak": "double descent",
    "I have tried everything": "when do I stop",
    "nothing helps": "when do I stop",
    "when should I give up on this": "when do I stop",
    "how long should I keep debugging": "when do I stop",
    "what else can I try, I am out of ideas": "when do I stop",
    "each epoch takes 3 hours": "slow-time",
    "GPU utilization is 20%": "slow-time",
    "it trains too slowly": "slow-time",
    "epochs take forever": "slow-time",
    "the GPU sits idle most of the time": "slow-time",
    "loss is not going down": "flat",
    "my network doesn't learn anything": "flat",
}

SEALED = {
    "regardless of input I get the same output": "same-output",
    "the model gives identical probabilities for all images": "same-output",
    "it predicts class 3 for every sample": "same-output",
    "output is constant no matter what I feed it": "same-output",
    "all logits are equal": "same-output",
    "generated embeddings are all the same vector": "same-output",
    "hidden units are stuck in saturation": "saturated",
    "my tanh layers are saturated": "saturated",
    "sigmoid outputs are all 0 or 1": "saturated",
    "half my relus died": "dead",
    "lots of dead filters in conv1": "dead",
    "units die during training": "dead",
    "my test loss shows double descent, should I continue?": "double descent",
    "validation error increased, then decreased again with more parameters": "double descent",
    "I'm stuck and nothing I try improves it": "when do I stop",
    "none of the fixes helped": "when do I stop",
    "at what point should I stop tuning": "when do I stop",
    "no idea what to do next": "when do I stop",
    "is it time to give up?": "when do I stop",
    "one epoch needs 40 minutes": "slow-time",
    "iterations are super slow": "slow-time",
    "the dataloader is the bottleneck": "slow-time",
    "GPU usage is only 10 %": "slow-time",
    "training speed is terrible": "slow-time",
    "the loss does not go down at all": "flat",
    "accuracy is not improving": "flat",
}


def understood(said: str, meant: str) -> bool:
    """A ticked symptom, or the row of the misdiagnosis table with these words in its title."""
    reply = recognise(said)
    return reply is not None and (meant in reply.ticks or (reply.kind == "misdiagnosis" and meant in reply.title))


if __name__ == "__main__":
    for name, sentences in (("open", OPEN), ("sealed", SEALED)):
        missed = [said for said, meant in sentences.items() if not understood(said, meant)]
        print(f"{name}: {len(sentences) - len(missed)} of {len(sentences)}")
        print("".join(f"  {said}\n" for said in missed), end="")
