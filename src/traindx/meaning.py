"""What a logged name means: `val/box_loss` is a validation loss, its box part, and lower is better.

Every reader, signal and report asks this one place, so that a name means the same everywhere. Only the name is looked
at; what the numbers look like is decided later by the signals.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

Kind = Literal[
    "loss", "score", "error", "perplexity", "reward", "likelihood", "lr", "grad_norm", "weight_norm", "update_ratio",
    "loss_scale", "skipped", "nonfinite", "activation", "dead", "saturated", "prediction", "entropy", "kl", "step",
    "epoch", "time", "step_time", "data_time", "throughput", "memory", "utilisation", "stamp", "other",
    # of policies: spread of rewards within groups, share of groups without any, share of clipped terms, probability
    # ratios, lengths of answers or episodes, share of answers cut at the limit, spread of actions, what the critic
    # explains, disagreement of trainer and sampler
    "reward_spread", "equal_groups", "clip_fraction", "ratio", "length", "cut_share", "action_std",
    "explained_variance", "mismatch",
    # of preferences: chosen minus rejected, log ratios and log-probabilities of each
    "margin", "log_ratio", "logp",
    "balance",  # loss that spreads tokens over experts
]  # fmt: skip
OBJECTIVES: tuple[Kind, ...] = ("loss", "score", "error", "perplexity", "reward", "likelihood")  # what training is for
Split = Literal["train", "val", "test", ""]
Goal = Literal["min", "max", ""]
Scale = Literal["step", "epoch", ""]


@dataclass(frozen=True, slots=True)
class Meaning:
    """`part` names a component ('box', 'G', a data set), '' is the whole; `where` names a layer, parameter or rank;
    `stat` is 'mean' unless the name says std, min or max ('signed' is a mean of gradients or weights, not a size);
    `scale` is 'epoch' for epoch averages, 'step' for batches."""

    kind: Kind
    split: Split = ""
    goal: Goal = ""
    part: str = ""
    where: str = ""
    stat: str = "mean"
    scale: Scale = ""


_TRAIN = frozenset({"train", "training", "trn", "tr", "fit"})
_VAL = frozenset({"val", "valid", "validation", "validate", "eval", "evaluation", "dev", "holdout", "heldout", "cv"})
_TEST = frozenset({"test", "testing", "tst"})
_SPLITS = _TRAIN | _VAL | _TEST

_SCORE = frozenset(
    "acc accuracy acc1 acc5 top1 top5 f1 fscore precision recall prec rec map map50 map75 map95 map5095 ap ap50 ap75 "
    "aps apm apl ar auc auroc auprc roc dice iou miou jaccard bleu bleu4 sacrebleu rouge rouge1 rouge2 rougel "
    "rougelsum "
    "chrf meteor r2 mcc kappa psnr ssim em exact hella hellaswag hit hits ndcg mrr success winrate win score pearson "
    "spearman cider spice correct sensitivity specificity hmean fitness pck accu bertscore iu miu fb1 "
    "solved pass1 pass5 pass10".split()
)
_SIDES = frozenset("left up down top bottom upper lower turns wheels arms legs hands eyes".split())
_ERROR = frozenset(
    "mae mse rmse mape smape wer cer per ter fid lpips error err bpc bpb bpd brier eer rmsle nme epe mpjpe msle "
    "crps perplexities abserr rel".split()
)
_PERPLEXITY = frozenset({"ppl", "perplexity", "perp"})
_REWARD = frozenset({"reward", "rewards", "rew", "return", "returns", "retn"})
_PREFERENCE = frozenset(
    {"chosen", "rejected", "margin", "margins"}
)  # DPO and its kin: log ratios of one policy, no return
_ANSWER = frozenset({"completion", "completions", "response", "responses", "generation", "gen", "output"})
_LENGTH = frozenset({"length", "lengths", "len"})
_CLIPPED = frozenset({"clip", "clipped", "clipping"})
_BALANCING = frozenset({"balancing", "balance", "aux", "router", "moe"})
_ADVANTAGE = frozenset({"advantage", "advantages", "adv"})
_LIKELIHOOD = frozenset({"elbo", "loglik", "loglikelihood", "ll", "likelihood", "logp", "logprob", "evidence"})
_LOSS_WORDS = frozenset(
    "loss losses lossval nll ce xent crossentropy bce cost objective criterion criteria energy l1 l2 huber hinge".split()  # noqa: E501
)
_STATS = {"std": "std", "stdev": "std", "var": "std", "min": "min", "minimum": "min", "max": "max", "maximum": "max",
          "best": "min",
          "median": "mean", "mean": "mean", "avg": "mean", "average": "mean"}  # fmt: skip
_TOTAL = frozenset({"total", "all", "overall", "sum", "lm", "avg", "average", "mean", "value", "full", "final",
                    "global",
                    "running", "smoothed", "smooth", "current", "cur", "raw", "objective", "model", "the", "of", "set",
                    "on", "metrics", "metric", "log", "logs", "scalars", "scalar", "trainer", "main", "batch", "epoch",
                    "step", "iter", "loss", "losses", "nll", "ce", "xent", "val", "crossentropy", "cross", "entropy",
                    "cost", "criterion", "per", "token", "network", "phase"})  # fmt: skip
_STEP_NAMES = {  # larger wins when a row carries several counters
    "globalstep": 10, "trainerglobalstep": 10, "step": 9, "steps": 9, "iteration": 8, "iterations": 8, "iter": 8,
    "iters": 8, "it": 8, "itr": 8, "trainstep": 8, "trainingstep": 8, "nstep": 8, "numsteps": 8, "totalsteps": 8,
    "totaliterations": 8, "currentiter": 8, "ni": 7, "numupdates": 7, "update": 7, "updates": 7, "timesteps": 6,
    "totaltimesteps": 6, "timetotaltimesteps": 6, "numtimesteps": 6, "totalenvinteracts": 6, "envsteps": 6,
    "numenvstepssampled": 6, "timestepstotal": 6, "trainingiteration": 5, "nupdates": 4, "trainnupdates": 4,
    "episodes": 3, "numepisodes": 3, "episode": 3, "timeepisodes": 3, "timeiterations": 5, "batch": 2, "batchidx": 2,
    "currentsteps": 9, "currentstep": 9, "curstep": 9, "currstep": 9, "stepnum": 9, "stepidx": 9, "stepid": 9,
    "stepno": 9,
    "stepnumber": 9, "globalsteps": 10, "globaliter": 9, "globaliteration": 9, "iterationnumber": 8, "iternum": 8,
    "numiter": 8,
    "niter": 8, "optimizerstep": 8, "optstep": 8, "trainsteps": 8, "trainingsteps": 8, "updatestep": 7, "timestep": 6,
    "envstep": 6, "agentsteps": 6, "frame": 6, "frames": 6, "totalframes": 6, "numframes": 6,
    "episodenum": 3, "nepisodes": 3, "game": 3, "games": 3, "batchnum": 2,
    "misctotaltimesteps": 6, "miscnupdates": 4, "totalnumsteps": 6, "minibatch": 2, "trial": 1, "round": 3, "rounds": 3,
    "tick": 3, "generation": 3,
}  # fmt: skip
_EPOCH_NAMES = frozenset({"epoch", "epochs", "ep", "epochnum", "currentepoch", "numepochs", "trainepoch",
                          "trainingepoch",
                          "epochidx", "nepoch", "epochnumber", "globalepoch", "epochid", "epochno", "numepoch",
                          "epochindex",
                          "epochscompleted"})  # fmt: skip
_STAMPS = frozenset({"timestamp", "walltime", "datetime", "date", "createdat", "ts", "eta", "remaining", "runtime",
                     "seed", "rank", "pid", "version", "nparameters", "numparams", "params", "hour",
                     "minute"})  # fmt: skip
_GRADIENT = frozenset({"grad", "grads", "gradient", "gradients"})
_NO_GRADIENT = frozenset({"accumulation", "clip", "clipping", "checkpointing", "copy", "loss", "penalty", "steps",
                          "time", "ms"})  # fmt: skip
_WEIGHT = frozenset({"weight", "weights", "param", "params", "parameter", "parameters"})
_ACTIVATION = frozenset({"act", "acts", "activation", "activations"})
_PREDICTION = frozenset({"pred", "preds", "predicted", "prediction", "predictions", "output", "outputs"})
_SHARE = frozenset({"fraction", "frac", "share", "ratio", "pct", "percent"})
_NONFINITE = frozenset({"nan", "nans", "inf", "infs", "nonfinite"})
_QUANTITY = _GRADIENT | _ACTIVATION | _SHARE | _NONFINITE | _TRAIN | set(_STATS) | {
    "gnorm", "gradnorm", "norm", "norms", "2", "2.0", "l2", "total", "global", "all", "clip", "clipped", "before",
    "dead", "zero", "zeros", "unit", "units", "neuron", "neurons", "relu", "sparsity", "saturated", "saturation",
    "update",
    "updates", "to", "count", "num", "has", "any", "step", "epoch", "optim", "optimizer", "stats", "debug",
    "monitor",
}  # fmt: skip
_COUNTED = frozenset({
    "it", "its", "iter", "iters", "iteration", "iterations", "step", "steps", "batch", "batches", "sample", "samples",
    "token", "tokens", "tok", "image", "images", "img", "imgs", "example", "examples",
})  # fmt: skip
_TIME_WORDS = frozenset({
    "time", "secs", "seconds", "sec", "elapsed", "dt", "duration", "ms", "wall", "took", "runtime", "timing", "timings",
})  # fmt: skip
_FETCHING = frozenset({
    "data", "load", "loader", "loading", "dataload", "dataloader", "dataloading", "io", "reader", "fetch", "batchgen",
})  # fmt: skip
_ADVERSARIAL_LOSS = re.compile(r"^(d|g)[_-]?(real|fake|gan|l1|a|b|adv)$|^(cycle|idt)[_-]?(a|b)$")  # pix2pix, CycleGAN
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SPLIT = re.compile(r"[^A-Za-z0-9@.]+")
_SUFFIX = re.compile(r"^(.*?[a-z])[_/ -]?(step|epoch)$")


_ABBREVIATED = {"trl": ["train", "loss"], "tel": ["eval", "loss"]}  # llm.c and the first modded-nanogpt
_TRANSLATED = {
    "训练": " train ", "验证": " val ", "测试": " test ", "损失": " loss ", "准确率": " accuracy ",
    "精度": " accuracy ", "学习率": " lr ", "步骤": " step ", "步数": " step ", "轮次": " epoch ",
    "轮数": " epoch ", "奖励": " reward ", "困惑度": " perplexity ", "梯度范数": " grad norm ",
}  # fmt: skip


def _translated(name: str) -> str:
    if name.isascii():
        return name
    for word, english in _TRANSLATED.items():
        name = name.replace(word, english)
    return name.strip()


_RANGE = re.compile(r"@\s?\[?(\.?\d[\d.]*)[:-]\.?\d[\d.]*\]?")  # 'mAP@0.50:0.95'


def tokens_of(name: str) -> list[str]:
    """The words of a name: 'metrics/mAP50-95(B)' → ['metrics', 'map50', '95', 'b']."""
    words: list[str] = []
    for chunk in _SPLIT.split(_RANGE.sub(r"\1", _translated(name)).replace("@", "")):
        if not chunk:
            continue
        # 'mAP', 'AP50', 'IoU' are words of their own, not camel case
        parts = [chunk] if re.match(r"^(m?AP|m?IoU|R2|F1|chrF)", chunk) else _CAMEL.split(chunk)
        words.extend(part.strip(".").lower() for part in parts if part.strip("."))
    return words


@lru_cache(maxsize=8192)
def meaning_of(name: str) -> Meaning:
    """The meaning of a logged name; kind 'other' when it says nothing known."""
    words = tokens_of(name)
    if not words:
        return Meaning("other")
    words = _ABBREVIATED.get("".join(words), words)
    bag = set(words)
    joined = "".join(words)
    split = _split(bag)
    stat = next((_STATS[word] for word in words if _STATS.get(word, "mean") != "mean"), "mean")
    scale = _scale(name, words)
    bare = "".join(word for word in words if word not in _SPLITS)
    if (joined in _STEP_NAMES and words != ["time", "step"]) or (bare in _STEP_NAMES and bare != "ep"):
        return Meaning("step", split)
    if bare in _EPOCH_NAMES:
        return Meaning("epoch", split)
    if joined in _STAMPS or bare in _STAMPS or words[0] in {"eta", "timestamp"}:
        return Meaning("stamp")
    if "/" in name and len(words) > 2 and words[0] in _ACTIVATION and words[1] in _STATS:
        return _statistic(words, bag, "", stat)  # of a layer, which may be called 'f1' or 'accuracy'
    known = _policy(bag, joined, split, stat) or _resource(words, bag, joined, split, scale, stat)
    if known is not None:
        return known
    return _objective(name, words, bag, bare, split, scale, stat)


def _split(bag: set[str]) -> Split:
    if bag & _VAL:
        return "val"
    if bag & _TEST:
        return "test"
    return "train" if bag & _TRAIN else ""


def _scale(name: str, words: list[str]) -> Scale:
    """Whether the name says that its values are of a step or of an epoch."""
    suffix = _SUFFIX.match(name.lower())
    if suffix and len(words) > 1:
        return "epoch" if suffix.group(2) == "epoch" else "step"
    # 'Validation Phase Loss' is the mean of the phase beside the losses of its batches
    return "epoch" if "phase" in words else ""


def says_only_the_split(name: str) -> bool:
    """Whether a name says on which data something was measured, and not what: 'Val', 'test'."""
    words = tokens_of(name)
    return bool(words) and set(words) <= _SPLITS


@lru_cache(maxsize=8192)
def step_rank(name: str) -> int:
    """How good a step counter this name is; 0 when it is none."""
    words = tokens_of(name)
    joined = "".join(words)
    bare = "".join(word for word in words if word not in _SPLITS)
    return _STEP_NAMES.get(joined, _STEP_NAMES.get(bare, 0))


def _policy(bag: set[str], joined: str, split: Split, stat: str) -> Meaning | None:
    """What policies and preferences log beside their objective."""
    if bag & _SHARE and bag & {"zero", "zeros"} and bag & (_REWARD | _ADVANTAGE):
        return Meaning("equal_groups", split)
    if bag & _LENGTH and bag & (_ANSWER | _CLIPPED | {"ep", "episode"}) and not bag & (_TIME_WORDS | {"penalty"}):
        return _length(bag, split, stat)
    if "completions" in bag and bag & _CLIPPED:
        return Meaning("cut_share", split)
    if not bag & _GRADIENT and ("clipfrac" in joined or (bag & _CLIPPED and bag & {"fraction", "frac"})):
        return Meaning("clip_fraction", split, part="value" if bag & {"vf", "value"} else "")
    if "explained" in bag and bag & {"variance", "var"}:
        return Meaning("explained_variance", split)
    if bag & _BALANCING and bag & (_LOSS_WORDS | {"balancing"}) and bag & {"load", "moe", "balancing"}:
        return Meaning("balance", split)
    if bag & {"noise", "action"} and stat == "std":
        return Meaning("action_std")
    return _preferred(bag, split, stat)


def _preferred(bag: set[str], split: Split, stat: str) -> Meaning | None:
    """What is said of chosen and rejected answers."""
    side = next(iter(bag & {"chosen", "rejected"}), "")
    if side and bag & {"logps", "logp", "logprob", "logprobs"}:
        return Meaning("logp", split, part=side, stat=stat)
    if side and bag & _REWARD:
        return Meaning("log_ratio", split, part=side, stat=stat)
    return Meaning("margin", split, stat=stat) if bag & {"margin", "margins"} and bag & _REWARD else None


def _length(bag: set[str], split: Split, stat: str) -> Meaning:
    """How long answers or episodes are, or how many answers reach the limit."""
    if bag & {"prompt", "prompts"}:
        return Meaning("other", split)
    if bag & _CLIPPED and bag & (_SHARE | {"fraction"}):
        return Meaning("cut_share", split)
    return Meaning("length", split, part="episode" if bag & {"ep", "episode"} else "answer", stat=stat)


def _resource(words: list[str], bag: set[str], joined: str, split: Split, scale: Scale, stat: str) -> Meaning | None:
    """Learning rate, norms, times and other quantities that are not objectives."""
    if "lr" in bag or {"learning", "rate"} <= bag or "learningrate" in bag or re.match(r"^lr\d*$", words[-1]):
        return Meaning("lr", "", "", part="/".join(w for w in words if w not in {"lr", "learning", "rate", "train"}))
    inside = _inside(words, bag, joined, scale, stat)
    if inside is not None:
        return inside
    pace = _pace(words, bag, split)
    if pace is not None:
        return pace
    if bag & _TIME_WORDS:
        return _timing(words, bag, split, scale)
    if joined in {"data", "dataload", "dataloading", "datas"} or _waits_for_data(bag):
        return Meaning("data_time", split)
    if bag & {"mem", "memory", "vram", "rss"} or joined in {"maxmem", "gpumem"}:
        return Meaning("memory")
    if bag & {"gpu", "cpu", "util", "utilization", "utilisation", "disk", "network", "power", "temp"} and not bag & (
        _SCORE | _LOSS_WORDS
    ):
        return Meaning("utilisation")
    return None


def _inside(words: list[str], bag: set[str], joined: str, scale: Scale, stat: str) -> Meaning | None:
    """What shows the inside of the training: the loss scaler, gradients, weights, updates and units."""
    # 'fc1.weight_norm', 'fc1.weight.grad' and 'grad.fc1.weight' say at an end of a dotted name what they are
    ends = bag | {word.rpartition(".")[2] for word in words}
    grad = bool((ends | {word.partition(".")[0] for word in words}) & _GRADIENT)
    weight = bool(ends & _WEIGHT)
    norm = bool(ends & {"norm", "norms"})
    scaler = "lossscale" in joined or ("scale" in bag and bag & {"loss", "scaler", "amp", "fp16"})
    named = joined in {"scaler", "gradscale", "gradscaler", "traingradscale"}
    if named or (scaler and not bag & {"invariant", "inv", "multi"}):
        return Meaning("loss_scale")
    if bag & {"skipped", "overflow", "overflows"} or {"nan", "iterations"} <= bag:
        return Meaning("skipped", part="nan" if "nan" in bag else "")
    if bag & _NONFINITE and (grad or weight or bag & _ACTIVATION):
        target = "gradient" if grad else "weight" if weight else "activation"
        return Meaning("nonfinite", part=target, where=_where(words, _WEIGHT))
    zeros = (bag & {"zero", "zeros"} and bag & _SHARE) or ("sparsity" in bag and bag & _ACTIVATION)
    # 'frac_reward_zero_std' counts groups of equal rewards, 'zero_loss_fraction' samples: neither is a layer
    if "dead" in bag or (zeros and not grad and not weight and not bag & (_REWARD | _ADVANTAGE | _LOSS_WORDS | _SCORE)):
        return Meaning("dead", part="" if "dead" in bag else "zeros", where=_where(words))
    if bag & {"saturated", "saturation"}:
        return Meaning("saturated", where=_where(words))
    updates = bool(bag & {"update", "updates"})
    if updates and (bag & {"ratio", "norm"} or {"to", "weight"} <= bag):
        return Meaning("update_ratio", part="norm" if "ratio" not in bag and norm else "", where=_where(words, _WEIGHT))
    if "gnorm" in joined or "gradnorm" in bag or (grad and (norm or bag & {"total", "2.0"})):
        return Meaning("grad_norm", where=_where(words), stat=stat, scale=scale)
    if grad and (len(words) > 1 or "." in joined) and not bag & _NO_GRADIENT:
        return Meaning("grad_norm", where=_where(words), stat="signed" if bag & {"mean", "avg"} else stat, scale=scale)
    if weight and norm:
        return Meaning("weight_norm", where=_where(words, _WEIGHT), stat=stat)
    return None


def _where(words: list[str], also: frozenset[str] = frozenset()) -> str:
    """The layer, parameter or rank in a name: what is left when the words for the quantity itself are gone."""
    trimmed = [re.sub(r"^grad\.|\.(grad|norm)$", "", word) for word in words]
    return ".".join(word for word in trimmed if word not in _QUANTITY and word not in also)


def _pace(words: list[str], bag: set[str], split: Split) -> Meaning | None:
    """Throughput ('it/s', 'tokens_per_sec') or its inverse ('s/it', 'time_per_step_s'), which is a step time."""
    if bag & {"fps", "throughput", "wps", "ups", "tflops", "ips", "qps", "tps", "tgs", "mfu", "hfu", "flops"}:
        return Meaning("throughput", split, "max")
    counted = [index for index, word in enumerate(words) if word in _COUNTED]
    seconds = [index for index, word in enumerate(words) if word in {"s", "sec", "second", "seconds"}]
    if not seconds or not (counted or "per" in bag):
        return None
    if counted and (seconds[0] < counted[0] or (bag & {"time", "timing"} and "per" not in words[counted[0] :])):
        return Meaning("step_time", split)
    # 'batch(s)' is no rate
    return None if counted and words[counted[0]] == "batch" else Meaning("throughput", split, "max")


def _waits_for_data(bag: set[str]) -> bool:
    return bool(bag & {"data", "input", "dataloader"} and bag & {"wait", "waiting"}) or {"batch", "generator"} <= bag


def _timing(words: list[str], bag: set[str], split: Split, scale: Scale) -> Meaning:
    if (bag & _FETCHING and not bag & {"checkpoint", "ckpt", "model"}) or _waits_for_data(bag):
        return Meaning("data_time", split, part="ms" if "ms" in bag else "")
    whole = {"elapsed", "total", "wall", "runtime", "epoch", "duration", "training", "left", "finish", "remaining"}
    if "iteration" in bag or "iter" in bag or "step" in bag or "batch" in bag:
        return Meaning("step_time", split, part="ms" if "ms" in bag else "")
    if bag & whole or scale == "epoch" or words in (["took"], ["t"]):
        return Meaning("time", split)
    if bag <= {"time", "dt", "ms", "s", "sec", "secs", "train", "avg", "mean", "step"}:
        return Meaning("step_time", split, part="ms" if "ms" in bag else "")
    return Meaning("time", split)


def _objective(name: str, words: list[str], bag: set[str], bare: str, split: Split, scale: Scale, stat: str) -> Meaning:
    if words[-1] in {"threshold", "thresholds", "thresh", "thr"}:  # a setting of a score, not the score
        return Meaning("other", split)
    part = "/".join(w for w in words if w not in _SPLITS and w not in _TOTAL and w not in _STATS and not w.isdigit())
    rewarded = _rewarded(bag, bare, part, split, scale, stat)
    if rewarded is not None:
        return rewarded
    if bag & _PERPLEXITY:
        return Meaning("perplexity", split, "min", stat=stat, scale=scale)
    is_loss = bool(bag & _LOSS_WORDS) or any(w.endswith("loss") or w.startswith("loss") for w in words)
    if is_loss or {"cross", "entropy"} <= bag:
        return _loss(words, bag, part, split, scale, stat)
    probable = _probability(bag, part, split, scale, stat)
    if probable is not None:
        return probable
    judged = _score_or_error(words, bag, bare, part, split, scale, stat)
    if judged is not None:
        return judged
    return _unsaid_loss(name, words, bag, bare, part, split) or _statistic(words, bag, split, stat)


def _rewarded(bag: set[str], bare: str, part: str, split: Split, scale: Scale, stat: str) -> Meaning | None:
    """What is said of rewards and returns."""
    if not (bag & _REWARD or "eprewmean" in bare or bare == "ret"):
        return None
    if bag & {"accuracy", "accuracies"}:  # how often the chosen answer has the higher reward
        return Meaning("score", split, "max", part, stat=stat, scale=scale)
    if bag & _PREFERENCE:
        return Meaning("other", split, stat=stat)
    if stat == "std" and not bag & {"episode", "ep", "return", "returns"}:
        return Meaning("reward_spread", split, part="/".join(w for w in part.split("/") if w not in _REWARD))
    if bag & {"loss", "losses"}:  # the loss of a reward model is a loss
        return None
    return Meaning("reward", split, "max", part, stat=stat, scale=scale)


def _loss(words: list[str], bag: set[str], part: str, split: Split, scale: Scale, stat: str) -> Meaning:
    if bag & {"acc", "accuracy"}:
        return Meaning("score", split, "max", part, stat=stat, scale=scale)
    part = "/".join(_loss_part(w) for w in part.split("/") if _loss_part(w))
    if not part and "cross" not in bag:  # a policy's value and entropy losses are parts; 'loss value' is the whole
        pairs = pairwise(words)
        part = next(
            (first for first, second in pairs if first in {"value", "entropy"} and second.startswith("loss")), ""
        )
    return Meaning("loss", split, "min", part, stat=stat, scale=scale)


def _probability(bag: set[str], part: str, split: Split, scale: Scale, stat: str) -> Meaning | None:
    """Entropies, divergences and likelihoods."""
    if "entropy" in bag:
        return Meaning("entropy", split)
    if bag & {"kl", "kld", "approxkl"}:
        return Meaning("kl", split, part=part)
    if bag & _LIKELIHOOD or {"log", "likelihood"} <= bag:
        goal: Goal = "min" if bag & {"neg", "negative", "nll"} else "max"
        return Meaning("loss" if goal == "min" else "likelihood", split, goal, part, stat=stat, scale=scale)
    return None


def _score_or_error(
    words: list[str], bag: set[str], bare: str, part: str, split: Split, scale: Scale, stat: str
) -> Meaning | None:
    if bag & {"err", "error"} and bag & {"top1", "top5", "top", "class"}:
        return Meaning("error", split, "min", part, stat=stat, scale=scale)
    reconstructed = "rec" in bag and bag & {"gan", "adv", "kl", "l1", "l2", "cycle"}  # not a recall
    windowed = "win" in bag and bag & {"length", "size", "len", "hop"}  # of a spectrum
    of_answers = words[-1] == "right" and len(words) > 1 and words[-2][-1] == "s"  # 'answers right'
    named = bool(bag & _SCORE) or (of_answers and not bag & _SIDES)
    if (
        not reconstructed
        and not windowed
        and (
            named
            or re.match(r"^(map|ap|ar|acc|top|rouge|bleu|hits?|prec|recall|ndcg)[\d.]*$", words[-1])
            or "accuracy" in bare
        )
    ):
        return Meaning("score", split, "max", part, stat=stat, scale=scale)
    if _errs(words, bag) or bare.endswith("error"):
        return Meaning("error", split, "min", part, stat=stat, scale=scale)
    return None


def _unsaid_loss(name: str, words: list[str], bag: set[str], bare: str, part: str, split: Split) -> Meaning | None:
    """Losses whose names do not say so."""
    if words[0] == "l" and len(words) > 1 and words[1].isalpha():  # BasicSR: 'l_pix', 'l_g_total'
        return Meaning("loss", split, "min", part="/".join(w for w in words[1:] if w not in _TOTAL))
    if not bare and split:  # nanoGPT: 'train 3.2', 'val 3.3'
        return Meaning("loss", split, "min")
    if _ADVERSARIAL_LOSS.match(name.strip().lower()) or "gan" in bag or bare == "adv":
        return Meaning("loss", split, "min", part=part or bare)
    if {"gradient", "penalty"} <= bag:
        return Meaning("loss", split, "min", part=part)
    return None


def _errs(words: list[str], bag: set[str]) -> bool:
    """Whether a name is that of an error. PER is the phoneme error rate, but 'images per batch' counts images."""
    named = bag & _ERROR
    return bool(named) and (named != {"per"} or [word for word in words if word not in _SPLITS][-1] == "per")


def _statistic(words: list[str], bag: set[str], split: Split, stat: str) -> Meaning:
    """Statistics of activations, weights or outputs that are neither norms nor objectives; 'other' when it is none."""
    measured = bag & (set(_STATS) | {"norm", "rms", "abs", "absmax"})
    if bag & _PREDICTION and (stat == "std" or bag & {"unique", "distinct", "classes"}):
        return Meaning("prediction", split, part="spread" if stat == "std" else "distinct", stat=stat)
    if measured and bag & (_ACTIVATION | {"hidden", "logit", "logits"}):
        return Meaning("activation", split, where=_where(words), stat=stat)
    if measured and bag & {"weight", "weights", "param", "params"}:
        return Meaning("weight_norm", where=_where(words, _WEIGHT), stat="signed" if stat == "mean" else stat)
    return Meaning("other", split, stat=stat)


def _loss_part(word: str) -> str:
    for piece in ("losses", "loss"):
        if word.endswith(piece):
            return word[: -len(piece)]
        if word.startswith(piece):
            return word[len(piece) :]
    return word
