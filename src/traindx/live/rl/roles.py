"""What a variable of a training loop stands for, by its name: rewards, advantages, log-probabilities, values, …

Authors differ in style and agree in words: `b_advantages`, `mb_adv`, `advs` and `GAE` are all advantages. A name only
nominates a variable; what is measured of it must also fit in shape, in the graph and in numbers."""

from __future__ import annotations

import re
from functools import lru_cache

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LOGP = frozenset(("logp", "logps", "logprob", "logprobs", "logpi", "logpac", "logpacs", "logpa"))
_CHOSEN = frozenset(("chosen", "preferred", "winner", "winners", "win", "better", "w"))
_REJECTED = frozenset(("rejected", "dispreferred", "loser", "losers", "lose", "worse", "l"))
_GOOD = frozenset(("good", "pos", "positive", "yes"))
_BAD = frozenset(("bad", "neg", "negative", "no"))
_REFERENCE = frozenset(("ref", "reference", "base", "initial", "sft"))
_OLD = frozenset(
    ("old", "behavior", "behaviour", "sampling", "sampler", "sampled", "rollout", "prev", "vllm", "buffer")
)
_NEXT = frozenset(("next", "nxt", "bootstrap", "prime"))
_REWARD = frozenset(("reward", "rewards", "rew", "rews"))
_RETURN = frozenset(("return", "returns", "ret", "rets", "discounted", "rtg", "rtgs"))
_ADVANTAGE = frozenset(("advantage", "advantages", "adv", "advs", "gae", "gaes"))
_DONE = frozenset(
    ("done", "dones", "terminal", "terminals", "terminated", "terminateds", "termination", "terminations")
)
_VALUE = frozenset(
    ("value", "values", "vals", "val", "baseline", "v", "critic", "q", "qs", "qvalue", "qvalues", "qf", "qval", "qvals")
)
_KL = frozenset(("kl", "kld", "kls", "kldiv"))
_ENTROPY = frozenset(("entropy", "entropies", "ent"))
_COEFFICIENT = frozenset(("coef", "coeff", "coefficient", "weight", "beta", "penalty", "alpha", "scale", "target"))
_SCALARS = {
    "gamma": "gamma", "discount": "gamma", "discount factor": "gamma", "gae lambda": "lambda", "lam": "lambda",
    "lambd": "lambda", "lmbda": "lambda", "lambda": "lambda", "tau gae": "lambda", "beta": "beta", "dpo beta": "beta",
    "kl coef": "beta", "kl beta": "beta", "beta kl": "beta", "kl weight": "beta",
    "epsilon": "epsilon", "eps": "epsilon",
    "eps greedy": "epsilon", "exploration rate": "epsilon", "eps threshold": "epsilon",
    "num generations": "group", "group size": "group", "n samples": "group", "num samples": "group", "g": "group",
    "group": "group", "n rollouts": "group", "k": "group", "max new tokens": "limit", "max completion length": "limit",
    "max new": "limit", "max len": "limit", "max length": "limit", "max tokens": "limit",
    "max response length": "limit",
    "clip coef": "clip", "clip range": "clip", "clip eps": "clip", "eps clip": "clip", "clip ratio": "clip",
    "clip": "clip", "clip epsilon": "clip", "epsilon low": "clip", "cliprange": "clip",
}  # fmt: skip
# what a name adds where the number is about rewards and none itself: `reward_weights`, `reward_scale`
_ABOUT = _COEFFICIENT | frozenset(
    ("weights", "coefs", "scales", "shift", "range", "bound", "limit", "threshold", "rms")
)
_AFTER_LOG = frozenset(("prob", "probs", "p", "ps", "pi", "ratio", "ratios"))
_NO_QUANTITY = frozenset(
    ("loss", "losses", "optimizer", "grad", "grads", "fn", "func", "mean", "std", "list", "model", "net", "network")
)
_TARGET = frozenset(("td", "target", "targets", "y", "expected", "backup"))
# Roles whose numbers an optimisation of a policy is made of: a loop with none of them is not looked at further.
TELLING = frozenset((
    "ratio", "advantage", "old_logprob", "chosen_logprob", "rejected_logprob", "chosen_reward", "rejected_reward",
    "done",
    "next_value", "reward", "return", "kl", "logprob", "target",
))  # fmt: skip


def words_of(name: str) -> tuple[str, ...]:
    """'mbAdvantages' → ('mb', 'advantages'); 'log_probs' → ('logprobs',)."""
    words = [word.lower() for word in _WORDS.findall(name)]
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] == "log" and word in _AFTER_LOG:
            joined[-1] = "log" + word
        else:
            joined.append(word)
    return tuple(word.removeprefix("new") if word in ("newlogprob", "newlogprobs", "newvalue") else word
                 for word in joined)  # fmt: skip


@lru_cache(maxsize=4096)
def role_of(name: str) -> str:
    """The role a tensor of this name may have; '' for none."""
    words = frozenset(words_of(name))
    if not words or words & _NO_QUANTITY:
        return ""
    return _pair(words) or _policy(words) or _environment(words)


@lru_cache(maxsize=4096)
def side_of(name: str) -> str:
    """Which side of a pair a name says; '' for none. Asked only where the graph has shown a pair."""
    words = frozenset(words_of(name))
    return _side(words) or ("chosen" if words & _GOOD else "rejected" if words & _BAD else "")


def _side(words: frozenset[str]) -> str:
    return "chosen" if words & _CHOSEN else "rejected" if words & _REJECTED else ""


def _pair(words: frozenset[str]) -> str:
    """Parts of a preference pair."""
    side = _side(words)
    if not side:
        return ""
    if words & _LOGP:
        return f"ref_{side}_logprob" if words & _REFERENCE else f"{side}_logprob"
    if words & {"reward", "rewards", "score", "scores", "r"} and not words & {"w", "l"}:
        return f"{side}_reward"
    return ""


def _policy(words: frozenset[str]) -> str:
    """Parts of a policy's objective."""
    if words & _LOGP:
        if words & _REFERENCE:
            return "ref_logprob"
        return "old_logprob" if words & _OLD else "" if words & _NEXT else "logprob"
    if words & {"ratio", "ratios", "importance", "rho", "rhos"} and not words & {"clip", "clipped", "kl", "log"}:
        return "ratio"
    if words & _ADVANTAGE:
        return "advantage"
    if words & _KL:
        return "" if words & _COEFFICIENT else "kl"
    if words & _ENTROPY:
        return "" if words & _COEFFICIENT or words & {"bonus"} else "entropy"
    if "mask" in words and words & {"completion", "response", "answer", "action", "gen", "comp", "generated"}:
        return "mask"
    return ""


def _environment(words: frozenset[str]) -> str:
    """What an environment gave, and what values are made of it."""
    if words & _REWARD or words == {"r"}:
        return "" if words & _ABOUT else "reward"
    if words & _RETURN or words == {"g"}:
        return "return"
    if words & _DONE or words == {"d"}:
        return "" if words & _NEXT or words & {"not", "non"} else "done"
    valued = words & _VALUE
    if valued and (words & _NEXT or "max" in words):
        return "next_value"
    if words & _TARGET and not words & {"update", "kl", "entropy"}:
        return "next_value" if words & {"max", "next"} else "target"
    return "value" if valued else ""


@lru_cache(maxsize=4096)
def scalar_of(name: str) -> str:
    """The setting a plain number of this name may be; '' for none."""
    return _SCALARS.get(" ".join(words_of(name)), "")
