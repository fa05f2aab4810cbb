"""What people say about a failing training, what it usually is instead, and the short ways from a symptom to its
causes.

Plain data for the pages and for `traindx explain`; every id is one of the catalogue. Nothing here decides anything: the
ranking is the engine's. Where a table that is passed around names only one cause, the row here names the ones that
resolved reports confirm, likeliest first.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Misdiagnosis:
    """`says`: the sentence one hears; `thinks`: the cause it assumes; `usually`: what it turns out to be; `check`: the
    observation that tells; `cues`: regular expressions that recognise the sentence in free text; `command`: what to
    type, where the check does not say it."""

    says: str
    thinks: str
    usually: str
    check: str
    cues: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True, slots=True)
class Complaint:
    """One of the answers to 'what do you see?', and the symptoms it stands for."""

    title: str
    symptoms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """One leaf of a decision tree: where these symptoms are present and those absent, these causes come first."""

    tree: str
    question: str
    present: tuple[str, ...]
    absent: tuple[str, ...]
    causes: tuple[str, ...]
    fix: str


@dataclass(frozen=True, slots=True)
class FirstLook:
    """A symptom, the causes to think of in this order, and the first fix to try."""

    symptom: str
    causes: tuple[str, ...]
    fix: str


@dataclass(frozen=True, slots=True)
class HandOver:
    """A problem that is not one of learning: how it shows, where to go with it, and how free text names it."""

    what: str
    signs: str
    go_to: str
    cues: tuple[str, ...] = ()


MISDIAGNOSES = (
    Misdiagnosis(
        "I need a different optimizer",
        "the optimizer is wrong",
        "learning rate, schedule or gradients; no other optimizer repairs those",
        "does the loss react when the rate changes by ten, and do all layers receive gradients?",
        (
            r"(different|another|other|new|change|chang\w+|switch\w*|swap\w*|replac\w+)( the| my| to)*( a| an| "
            r"another)? "
            r"optimi[sz]er",
            r"optimi[sz]er is (wrong|bad|broken)",
            r"(switch|change|move)\w*( from \w+)? to "
            r"(adamw?|sgd|rmsprop|lion|adagrad|lamb|muon)\b",
            r"\b(try|use) (adamw?|sgd|rmsprop|lion|adagrad|lamb|muon)\b",
        ),
    ),
    Misdiagnosis(
        "Just tell me which optimizer to use",
        "one of them would simply work",
        "AdamW is a fine default, and it is rarely what is broken",
        "name the symptom first: flat, swinging, diverging, NaN or a gap each lead elsewhere",
        (
            r"(which|what|best|right)( is the)?( best| right)? optimi[sz]er",
            r"optimi[sz]er (should|do|to) (i|we|use)",
            r"recommend\w* (an |me an )?optimi[sz]er",
            r"\b(adamw?|sgd) or (adamw?|sgd)\b",
        ),
    ),
    Misdiagnosis(
        "It needs more epochs",
        "the model is undertrained",
        "a flat loss is not learning; more epochs of nothing change nothing",
        "is the last fifth of the smoothed curve still falling beyond its noise?",
        (
            r"more (epochs?|steps|iterations)",
            r"train(ing)?( it)?( for)? longer",
            r"not (been )?trained (long )?enough",
            r"undertrained",
            r"(let|keep) it (run|train)(ing)? (longer|on)",
        ),
    ),
    Misdiagnosis(
        "The model is too small",
        "capacity is missing",
        "regularisation, data or labels hold it down, or part of it does not train",
        "can it memorise one batch, and does the train loss fall without dropout and decay?",
        (
            r"(model|network|net) (is |may be |might be )?too (small|simple|shallow)",
            r"(bigger|larger|deeper|wider) (model|network|net)\b(?!.*which)",
            r"more (layers|parameters|capacity|neurons|hidden units)",
            r"not enough capacity",
        ),
    ),
    Misdiagnosis(
        "The batch is too small",
        "the batch causes the noise",
        "the rate does not fit the batch: their ratio sets the noise",
        "does a rate lowered by the same factor calm it just as well?",
        (r"batch( size)? (is |may be |might be )?too small", r"(bigger|larger|increase|raise)( the| my)? batch"),
    ),
    Misdiagnosis(
        "I have to tune the hyper-parameters",
        "a search will find the fault",
        "one specific fault; a search over a broken script compares broken runs",
        "first loss at chance, one batch memorised, gradients in every layer: three checks, two minutes",
        (
            r"(tun\w+|search\w*|sweep\w*|optimi[sz]\w+)( the| my| all| over)* ?(hyper|param)",
            r"hyper-?param\w* (search|tuning|sweep|optimi)",
            r"\b(grid|random) search",
            r"\b(optuna|ray tune|sweep)\b",
            r"just tune\b",
            r"tune (it )?random",
        ),
    ),
    Misdiagnosis(
        "I will try some learning rates at random",
        "the right rate is a matter of luck",
        "the usable range can be measured in 200 steps, and the rate is often not the cause",
        "what does a range test show? If no rate makes the loss fall, it is not the rate",
        (
            r"(try|use|set|test|with)( a| an| the| some| different| other| lower| higher| random| smaller| larger)* "
            r"?(lrs?|learning[- ]rates?)\b",
            r"(which|what|best|good|right) (lr|learning[- ]rate)\b",
            r"(tun\w+|chang\w+|lower\w*|rais\w+|increas\w+|decreas\w+|play\w* with)( the| my)? (lr|learning[- ]rate)",
            r"\b(lr|learning[- ]rate) ?(=|of|to)? ?\d",
        ),
    ),
    Misdiagnosis(
        "The demo is tomorrow, I need a quick fix",
        "guessing is faster than looking",
        "a wrong guess costs a run, a diagnosis half a minute",
        "run `traindx diagnose` on the log, then change one thing and compare a few hundred steps",
        (
            r"quick(est)? (fix|hack|way|solution)",
            r"(demo|deadline|presentation|paper|submission) (is )?(tomorrow|today|tonight|in an hour|soon)",
            r"(no|not enough|don.t have) time",
            r"just (tell|give) me (a|the|what|how)( quick| fast| simple)?( fix| to (do|change))?\b(?!.*optimi)",
            r"\bjust fix\b",
            r"\basap\b",
            r"\bhurry",
        ),
    ),
    Misdiagnosis(
        "The loss is NaN, so the learning rate is too high",
        "the steps are too long",
        "in resolved reports: half precision 45 %, data and labels 23 %, learning rate 18 %, fused kernels 14 %",
        "did the loss grow before the NaN? Does it survive in fp32, and on the same batch again?",
        (
            r"nan.*(so|therefore|because|must be|means).*(lr|learning[- ]rate)",
            r"(lr|learning[- ]rate).*(too high|too large).*nan",
        ),
    ),
    Misdiagnosis(
        "The loss oscillates, something is wrong",
        "a healthy curve is smooth",
        "often ordinary mini-batch noise on top of progress",
        "does the smoothed curve still fall, and is the band narrower than the progress?",
        (r"(noisy|nois[ey]|oscillat\w*|swing\w*).*(something is|must be|is) (wrong|broken)",),
    ),
    Misdiagnosis(
        "Half of the activations are zero: dead ReLUs",
        "zeros mean dead units",
        "half is what a healthy ReLU layer shows; a dead unit is off for every sample",
        "count the units that are zero for all samples, not the zeros",
        (r"(half|50 ?%|many|most) of (the |my )?(activations?|units|neurons) (are|is) (zero|dead|0)", r"dead relu"),
    ),
    Misdiagnosis(
        "The gradient norm is fine, so gradients flow",
        "one number describes all layers",
        "the last layer dominates the norm while the first ones may receive nothing",
        "print the norm of each layer: neighbours should differ by less than a factor of ten",
        (r"grad\w*( norm)? (is|are|looks?) (fine|ok|okay|good|normal|healthy)",),
    ),
    Misdiagnosis(
        "My GAN has mode collapse",
        "the generator has too little capacity",
        "the discriminator learns too fast for it, or the generator's gradient is cut or saturated; the losses show "
        "none of it",
        "are generated samples much closer to each other than real ones? then halve the discriminator's rate",
        (
            r"mode[- ]collaps",
            r"generator (always |only )?(produces|makes|gives|outputs) (the same|one|identical)",
        ),
    ),
    Misdiagnosis(
        "My causal LM loss goes to 0.001",
        "the language model is that good",
        "it sees its answer: no causal mask, targets that were not shifted, or validation text that was trained on",
        "does another last token change the outputs at earlier positions? (traindx run measures it)",
        (r"(causal lm|language model|\blm\b|gpt|llama).*loss.* (0\.0|zero|1e-)",),
    ),
    Misdiagnosis(
        "LoRA does not learn",
        "the rank is too low",
        "the rate is that of full fine-tuning (adapters bear ten times more), or the adapters are frozen, unmatched or "
        "in no optimizer",
        "which parameters have requires_grad=True, and do they move? (model.print_trainable_parameters())",
        (r"\b(q?lora|adapters?)\b.*(not|n[’']t|never|hardly) (learn|improv|train|chang|mov|work)",),
    ),
    Misdiagnosis(
        "My VAE suffers posterior collapse",
        "the encoder is too weak",
        "the KL term weighs too much from the first step, or the reconstruction is a mean where KL is a sum",
        "does any dimension's mean vary over the inputs by more than 0.01? (traindx explain posterior-collapse)",
        (r"posterior[- ]collaps",),
    ),
    Misdiagnosis(
        "Nothing works, when do I stop?",
        "one more change will find it",
        "after a `traindx fix` in which nothing helped, or three causes ruled out, it is another question: the "
        "data, the "
        "task, the architecture, or a known-good script that fails here too",
        "can the model memorise one batch? If it can, look at data and labels; if not, at model and loss",
        (
            r"nothing (\w+ )?(works|worked|helps|helped|is working|changes anything)",
            r"tried (almost |nearly |literally )?everything",
            r"(when|should) (do |should |can |to )?(i |we )?(just )?(stop|give up|quit|move on)\b",
            r"how (long|much longer) (should|do|can) (i|we) (keep|go on|debug|try)",
            r"(out of|no more|ran out of|run out of) (ideas|options|hypotheses)",
            r"\bgiv(e|ing) up\b",
            r"no (more )?ideas? (what|how|left|why)",
            r"none of (the|my|these|those|your) (fixes|changes|attempts|suggestions|settings)",
            r"nothing (i|we) (try|tried|do|did|change|changed)\b",
            r"(stop|keep) debugging",
            r"what else (can|could|should|is there)",
        ),
    ),
    Misdiagnosis(
        "It is double descent, training on will help",
        "validation comes back by itself",
        "three regimes: left of the peak more capacity or training trades bias for variance; at the peak the "
        "model just "
        "fits the training set; right of it validation falls again. Most validation losses that rise are plain "
        "overfitting",
        "is the training error near zero, and did validation already fall again after its peak?",
        (
            r"double[- ]descent",
            r"interpolation (threshold|peak)",
            r"\b(val\w*|test)\b.*\b(wors\w+|r[io]se|rises|went up|goes up|up|increas\w+)\b.*\b(then|and|but|before)\b.*"
            r"\b(better|again|improv\w+|down|fell|falls|recover\w*)\b.*\b(again|bigger|larger|capacity|size"
            r"|train\w*|epochs)",
        ),
        "traindx explain double-descent",
    ),
)

COMPLAINTS = (
    Complaint("the loss does not decrease, or stopped", ("flat-from-start", "loss-at-chance", "plateau")),
    Complaint("the loss decreases very slowly", ("slow-convergence", "still-improving")),
    Complaint("the loss swings or jumps", ("oscillation", "loss-spike", "divergence", "val-spike", "val-noisy")),
    Complaint("the loss became NaN or Inf", ("nonfinite-loss", "nonfinite-gradient", "nonfinite-weight")),
    Complaint("gradients are very large", ("exploding-gradients", "huge-updates")),
    Complaint("gradients are close to zero", ("vanishing-gradients", "tiny-updates", "no-gradient")),
    Complaint("train is good, validation is bad", ("overfitting-gap", "val-at-chance")),
    Complaint("training takes too long", ("slow-input-pipeline", "slow-step", "throughput-drop")),
    Complaint("something else", ("suspiciously-good", "prediction-collapse", "high-initial-loss", "negative-loss")),
)

BRANCHES = (
    Branch("plateau", "Do all layers receive gradients and move by 1e-4 or more of their weights?",
           ("plateau",), ("vanishing-gradients", "tiny-updates"),
           ("lr-decay-missing", "lr-too-high", "model-too-small"),
           "add-lr-decay"),
    Branch("plateau", "Are the updates tiny although the gradients are healthy?",
           ("plateau", "tiny-updates"), ("vanishing-gradients",), ("lr-decayed-too-early", "lr-too-low"),
           "step-scheduler-per-epoch"),
    Branch("plateau", "Do the first layers receive almost no gradient?",
           ("plateau", "vanishing-gradients"), (), ("dead-relu", "saturation", "vanishing-gradients"),
           "use-relu-family"),
    Branch("plateau", "Is the loss as low as the task allows, on validation too?",
           ("plateau",), ("underfitting", "loss-at-chance", "overfitting-gap"), ("healthy", "lr-decay-missing"),
           "reduce-on-plateau"),
    Branch("nan", "Did it come in the first few steps, before anything could grow?",
           ("nonfinite-loss",), ("divergence", "loss-spike"),
           ("fp16-overflow", "nan-in-data", "label-encoding-wrong", "init-too-large", "warmup-missing"),
           "drop-bad-samples"),
    Branch("nan", "Did gradient norm and loss grow before it?",
           ("nonfinite-loss", "exploding-gradients"), (), ("exploding-gradients", "lr-too-high", "grad-clip-missing"),
           "clip-gradients"),
    Branch("nan", "Was everything calm until the very step?",
           ("nonfinite-loss",), ("exploding-gradients", "divergence"),
           ("fp16-overflow", "log-of-zero", "division-by-zero", "corrupt-samples"), "compute-loss-in-fp32"),
    Branch("overfitting", "Was validation good once, and has it worsened since?",
           ("overfitting-gap",), ("val-at-chance",), ("overfitting",), "early-stopping"),
    Branch("overfitting", "Was validation bad from the first epoch on?",
           ("val-at-chance",), (), ("val-preprocessing-mismatch", "train-val-label-mismatch", "train-mode-during-eval"),
           "same-preprocessing"),
    Branch("overfitting", "Is validation only scattering around a constant level?",
           ("val-noisy",), ("overfitting-gap",), ("train-mode-during-eval", "batch-too-small", "lr-decay-missing"),
           "call-model-eval"),
)  # fmt: skip

FIRST_LOOKS = (
    FirstLook("flat-from-start", ("lr-too-low", "lr-too-high", "frozen-params", "constant-init", "init-too-small",
                                  "detached-graph", "labels-misaligned", "vanishing-gradients"), "overfit-one-batch"),
    FirstLook("slow-convergence", ("lr-too-low", "inputs-not-normalized", "vanishing-gradients"), "lr-range-test"),
    FirstLook("plateau", ("lr-decay-missing", "lr-decayed-too-early", "model-too-small"), "add-lr-decay"),
    FirstLook("oscillation", ("lr-too-high", "batch-too-small", "momentum-too-high"), "lower-lr"),
    FirstLook("loss-spike", ("corrupt-samples", "grad-clip-missing", "lr-too-high"), "clip-gradients"),
    FirstLook("nonfinite-loss", ("fp16-overflow", "nan-in-data", "lr-too-high", "exploding-gradients"),
              "compute-loss-in-fp32"),
    FirstLook("overfitting-gap", ("overfitting", "val-preprocessing-mismatch", "not-shuffled"), "early-stopping"),
    FirstLook("underfitting", ("too-few-epochs", "dropout-too-high", "weight-decay-too-high", "model-too-small"),
              "train-longer"),
    FirstLook("dead-units", ("dead-relu", "lr-too-high", "init-too-small"), "leaky-relu"),
    FirstLook("saturated-units", ("saturation", "init-too-large", "inputs-not-normalized"), "default-init"),
    FirstLook("slow-input-pipeline", ("slow-data-loading", "too-few-workers"), "add-workers"),
)  # fmt: skip

HAND_OVERS = (
    HandOver("CUDA out of memory", "OutOfMemoryError, killed by the system, memory that grows with every step",
             "memory, not learning: smaller batch or activation checkpointing; for growth, losses kept without .item()",
             (r"(cuda|gpu|hip|mps)? ?out[- ]of[- ]memory", r"\boom\b", r"cuda.*memory", r"memory error", r"outofmemory",
              r"not enough (gpu |cuda )?memory", r"runs? out of (gpu )?memory")),
    HandOver("DataLoader crash", "worker exited unexpectedly, bus error, too many open files",
             "the input pipeline: run with num_workers=0 to see the real traceback, check shared memory",
             (r"data ?loader.*(crash|exit|kill|error|hang|bus|fail|stuck)",
              r"worker.*(exited|killed|crash|died|unexpectedly)", r"bus error", r"seg(mentation )?fault|core dumped",
              r"too many open files", r"shared memory|\bshm\b", r"pin_memory.*error")),
    HandOver("hang or NCCL timeout", "the log stops, a watchdog speaks, ranks wait for each other",
             "the distributed set-up: compare the last step of each rank",
             (r"nccl", r"\bhangs?\b", r"\bdeadlock", r"watchdog", r"\bfroze|\bfreezes\b(?!.*layer)")),
    HandOver("choice of architecture", "no training has failed yet",
             "a design question: start from a published model for a similar task and data size",
             (r"(which|what|best|right|choose|choosing|pick|select\w*)( a| an| the| is the| kind of| type of)*( best| "
              r"right)? (architecture|backbone|network|model|cnn|transformer|net)\b",
              r"architecture (choice|selection|should|to use|for)",
              r"(resnet|cnn|vit|transformer|lstm|gru|mamba|mlp)s? (or|vs\.?|versus) (an? "
              r")?(resnet|cnn|vit|transformer|lstm|gru|mamba|mlp)", r"how many layers (should|do)",
              r"should i use (a |an )?(resnet|cnn|vit|transformer|lstm|gru|mamba|mlp|rnn)")),
)  # fmt: skip


def misdiagnoses() -> tuple[Misdiagnosis, ...]:
    """What people say and what it usually is, commonest first."""
    return MISDIAGNOSES
