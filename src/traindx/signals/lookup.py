"""Settings by meaning: the learning rate is 'lr', 'learning_rate', 'optimizer.lr' or 'TRAIN.BASE_LR' in a config."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

ALIASES: Mapping[str, tuple[str, ...]] = {
    "classes": ("numclasses", "nclasses", "nclass", "numclass", "nc", "numlabels", "classnum", "classescount",
                "classes"),
    "vocabulary": ("vocabsize", "paddedvocabsize", "ntokens", "nvocab"),
    "parameters": ("modelparameters", "nparameters", "numparams", "numparameters", "nparams", "totalparams"),
    "lr": ("learningrate", "lr", "baselr", "lr0", "initlr", "initiallr", "maxlr"),
    "batch_size": ("batchsize", "globalbatchsize", "trainbatchsize", "perdevicetrainbatchsize", "batch", "bs",
                   "imsperbatch",
                   "microbatchsize"),
    "epochs": ("plannedepochs", "numtrainepochs", "maxepochs", "epochs", "numepochs", "nepochs", "maxepoch",
               "totalepochs",
               "trainepochs"),
    "steps": ("plannedsteps", "maxsteps", "totalsteps", "trainiters", "maxiters", "maxiter", "numsteps",
              "numiterations",
              "maxtrainsteps", "totaltimesteps", "maxupdate", "totaliters", "trainsteps"),
    "weight_decay": ("weightdecay", "wd", "l2"),
    "dropout": ("dropout", "dropoutrate", "dropoutp", "hiddendropout", "hiddendropoutprob", "droprate"),
    "clip": ("maxgradnorm", "clipgrad", "gradclip", "gradientclipval", "clip", "clipnorm", "gradclipnorm",
             "clipgradnorm"),
    "momentum": ("momentum", "beta1", "adambeta1"),
    "warmup": ("warmupsteps", "warmupiters", "warmupepochs", "warmup", "numwarmupsteps", "warmupratio", "lrwarmupiters",
               "lrwarmupsamples", "lrwarmupfraction"),
    "workers": ("numworkers", "workers", "nworkers", "dataloadernumworkers", "numdataworkers"),
    "optimizer": ("optimizer", "optim", "opt", "optimizername", "optimizertype"),
    "samples": ("trainsamples", "trainsize", "ntrain", "numtrain", "trainingsamples", "numtrainsamples",
                "numtrainingsamples", "datasetsize", "numexamples", "numtrainexamples", "trainexamples"),
    "accumulation": ("gradientaccumulationsteps", "accumulategradbatches", "gradaccum", "accumulationsteps"),
}  # fmt: skip
_HALF = re.compile(r"(^|[^a-z])(fp16|float16|half|16-mixed|amp)([^a-z]|$)", re.IGNORECASE)


def _last(key: str) -> str:
    return re.sub(r"[^a-z0-9]", "", re.split(r"[./]", key)[-1].lower())


def setting(config: Mapping[str, Any], name: str) -> Any:
    """The value of a setting under any of its usual names, or None; the shortest (least nested) key wins."""
    for alias in ALIASES[name]:
        keys = sorted((key for key in config if _last(key) == alias), key=lambda key: (key.count("."), len(key)))
        for key in keys:
            if config[key] is not None and config[key] != "":
                return config[key]
    return None


def number(config: Mapping[str, Any], name: str) -> float | None:
    """The setting as a finite number, or None."""
    value = setting(config, name)
    if isinstance(value, bool):
        return None
    try:
        parsed = float(value)
    except (TypeError, ValueError):
        return None
    return parsed if math.isfinite(parsed) else None


def half_precision(config: Mapping[str, Any]) -> bool | None:
    """Whether the run trained in fp16: True or False where the config tells, else None."""
    stated: bool | None = None
    for key, value in config.items():
        name = _last(key)
        if name in ("fp16", "amp", "useamp", "half", "usefp16"):
            stated = stated or str(value).lower() in ("true", "1", "o1", "o2", "yes")
        elif name in ("precision", "mixedprecision", "dtype", "torchdtype"):
            stated = stated or bool(_HALF.search(str(value)))
    return stated
