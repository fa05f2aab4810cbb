"""The words in front of a number: what is its name, what is a setting, what names the data it was measured on."""

from __future__ import annotations

import re
from functools import lru_cache

from traindx.meaning import Meaning, Split, meaning_of, tokens_of

OBJECTIVES = frozenset({"loss", "score", "error", "perplexity", "reward", "likelihood"})
# quantities a training prints beside its objective; a line of these alone is a measurement too, if it keeps coming back
COMPANIONS = frozenset(
    {"lr", "grad_norm", "weight_norm", "update_ratio", "loss_scale", "entropy", "kl", "dead", "saturated"}
)

# a name with one of these words is a knob somebody set, whatever else it says ('loss_weight', 'INSTANCE_LOSS_WEIGHT')
_KNOB_WORDS = """
    weight weights coef coeff coefs coefficient coefficients lambda alpha beta beta1 beta2 gamma decay momentum eps epsilon
    warmup type name fn func function clip clipping threshold thresh thr patience seed size sizes window interval freq
    frequency every dropout factor init initial schedule scheduler optimizer smoothing temperature margin reduction mode
    use enable power delta maximum limit tolerance tol cap target ratio ratios dim layers heads samples params parameters
    accumulation version port device backend path dir file workers base anchors
"""  # noqa: E501
_KNOBS = frozenset(_KNOB_WORDS.split())
_LIMITS = frozenset({"max", "min", "num", "n", "nb", "target", "default"})
# a line that tells about another line: the best value so far, a file that was saved or loaded
_OTHER_LINE = re.compile(
    r"\b(?:best|saving(?! "
    r"dict)|saved?|improved?|improvement|checkpoint|resum\w*|restor\w*|load(?:ed|ing)?|lowest|highest|previous|"
    r"early\s?stopp\w*|patience|did not|threshold)\b|保存|最佳|最好|加载",
    re.IGNORECASE,
)
_SPLIT_WORDS: dict[str, Split] = {}
for _split, _words in (
    ("train", "train training trn tr fit trains trained learn"),
    ("val", "val valid validation validate validating validated eval evaluation evaluate evaluating evaluated dev "
            "holdout "
            "heldout cv vali"),
    ("test", "test testing tst tested"),
):  # fmt: skip
    for _word in _words.split():
        _SPLIT_WORDS[_word] = _split  # type: ignore[assignment]
_WORDS = re.compile(r"[A-Za-z]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
# the few words of other languages that logs are full of
_GLOSSARY = (
    ("训练", " train "), ("訓練", " train "), ("验证", " val "), ("驗證", " val "), ("検証", " val "), ("测试", " test "),  # noqa: E501
    ("測試", " test "), ("テスト", " test "), ("学習率", " lr "), ("学习率", " lr "), ("學習率", " lr "), ("学習", " train "),  # noqa: E501
    ("损失", " loss "), ("損失", " loss "), ("准确率", " accuracy "), ("準確率", " accuracy "), ("正解率", " accuracy "),  # noqa: E501
    ("精度", " accuracy "), ("精确率", " precision "), ("召回率", " recall "), ("平均", " avg "), ("奖励", " reward "),
    ("报酬", " reward "), ("轮次", " epoch "), ("轮", " epoch "), ("步", " step "), ("エポック", " epoch "),
    ("困惑度", " perplexity "),
    ("误差", " error "), ("梯度范数", " grad norm "), ("时间", " time "), ("用时", " time "), ("耗时", " time "), ("손실", " loss "),  # noqa: E501
    ("정확도", " accuracy "), ("학습률", " lr "), ("학습", " train "), ("검증", " val "), ("에포크", " epoch "),
    ("pérdida", " loss "), ("perte", " loss "), ("verlust", " loss "), ("genauigkeit", " accuracy "),
    ("época", " epoch "),
    ("précision", " accuracy "), ("precisión", " accuracy "), ("эпоха", " epoch "), ("потери", " loss "),
    ("точность", " accuracy "),
)  # fmt: skip
_FOREIGN = re.compile("|".join(word for word, _ in _GLOSSARY))
_TRANSLATION = dict(_GLOSSARY)
# what one-word names stand for in the tools that print them: CatBoost's 'learn', DCGAN's 'Loss_D'
_ALIASES = {"learn": "train loss", "objf": "loss", "objective": "loss", "perp": "perplexity"}


def in_english(text: str) -> str:
    """The text with the usual foreign words for losses and scores in English."""
    if text.isascii():
        return text
    return _FOREIGN.sub(lambda match: _TRANSLATION[match.group()], text.lower())


@lru_cache(maxsize=8192)
def meaning_in_text(name: str) -> Meaning:
    """The meaning of a name found in running text: foreign words and one-word aliases understood, knobs refused."""
    english = in_english(name)
    english = _ALIASES.get(english.strip().lower(), english)
    meaning = meaning_of(english)
    if meaning.kind in OBJECTIVES and is_knob(english):
        return Meaning("other")
    return meaning


@lru_cache(maxsize=8192)
def is_knob(name: str) -> bool:
    """Whether the name is that of a setting rather than a measurement."""
    words = tokens_of(name)
    return (bool(_KNOBS.intersection(words)) or (len(words) > 1 and words[0] in _LIMITS)) and not {
        "loss",
        "scale",
    } <= set(words)


def split_of(text: str) -> Split:
    """Which data the words speak of: the first of train, validation and test that they name; 'evaluate:test' is
    test."""
    weak: Split = ""
    for chunk in _WORDS.findall(in_english(text)):
        for word in _CAMEL.split(chunk):
            found = _SPLIT_WORDS.get(word.lower())
            if found and word.lower().startswith("eval"):
                weak = weak or found
            elif found:
                return found
    return weak


def tells_of_another(text: str) -> bool:
    """Whether a line speaks about another one ('saved the best model, val loss 0.3') rather than measuring itself."""
    return _OTHER_LINE.search(text) is not None
