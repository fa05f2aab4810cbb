"""Versions of packages: those a training ran with, as settings `version.torch`, and whether one lies in a range."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PREFIX = "version."
# what trainings use and known issues speak of: the module's name, and the package's where it differs
_MODULES = {
    "torch": "", "torchvision": "", "transformers": "", "tokenizers": "", "accelerate": "", "peft": "", "trl": "",
    "datasets": "", "huggingface_hub": "huggingface-hub", "deepspeed": "", "bitsandbytes": "", "triton": "",
    "flash_attn": "flash-attn", "xformers": "", "unsloth": "", "liger_kernel": "liger-kernel", "lightning": "",
    "pytorch_lightning": "pytorch-lightning", "diffusers": "", "sentence_transformers": "sentence-transformers",
    "timm": "", "ultralytics": "", "keras": "", "tensorflow": "", "jax": "", "optax": "", "numpy": "", "PIL": "pillow",
    "google.protobuf": "protobuf", "setuptools": "", "tensorboard": "", "wandb": "",
    "stable_baselines3": "stable-baselines3", "gymnasium": "",
}  # fmt: skip
PACKAGES = frozenset(package or module for module, package in _MODULES.items()) | {"python"}
_ALIASES = {"pytorch": "torch", "numpy-base": "numpy", "flash-attention": "flash-attn", "hub": "huggingface-hub"}
_NUMBER = r"v?(\d+(?:\.\d+)+(?:[.\-_]?(?:dev|post|rc|a|b|alpha|beta)[.\-_]?\d*)*(?:\+[\w.]+)?)"
_VERSION = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)(?:[.\-_]?(?P<pre>a|b|c|rc|alpha|beta|pre)[.\-_]?(?P<pre_n>\d*))?"
    r"(?:[.\-_]?post[.\-_]?(?P<post>\d*))?(?:[.\-_]?dev[.\-_]?(?P<dev>\d*))?(?:\+[\w.\-]+)?",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"\s*(==|!=|>=|<=|>|<)\s*([\w.]+?(?:\.\*)?)\s*")
_REQUIREMENT = re.compile(r"([A-Za-z][\w.\-]*)\s*(.*)")
_PRE = {"a": 1, "alpha": 1, "b": 2, "beta": 2, "c": 3, "rc": 3, "pre": 3}
_DEV, _FINAL = 0, 4  # where a development release and a final one stand among the pre-releases above

_Key = tuple[tuple[int, ...], int, int, int, int]

# one line, one package: 'torch==2.3.0', '- Transformers 4.44.2', 'PyTorch version (GPU?): 2.6.0+cu124 (True)'
_PINNED = re.compile(rf"\s*([A-Za-z][\w.\-]*)\s*==\s*{_NUMBER}\s*(?:[;#].*)?")
_STATED = re.compile(
    rf"[\s\-*>|`'\"]*([A-Za-z][\w\-]*)(?:\.__version__)?[`'\"]*\s*(?:version)?\s*(?:\((?:GPU|CPU)[^)]*\))?[`'\"]*"
    rf"\s*(?:[:=|]|is)?\s*{_NUMBER}\s*(?:\([\w ]*\))?[\s|.,]*",
    re.IGNORECASE,
)
_INSTALLED = re.compile(r"Successfully installed (.+)")
_WHEEL = re.compile(rf"([A-Za-z][\w.\-]*?)-{_NUMBER}(?=\s|$)")
_SETTING = re.compile(r"(?:.*[._])?([A-Za-z][A-Za-z0-9\-]*(?:_[A-Za-z0-9]+)*?)_version")


def canonical(name: str) -> str:
    """A package's name as PyPI writes it; PyTorch is torch."""
    plain = re.sub(r"[-_.]+", "-", name.strip()).lower()
    return _ALIASES.get(plain, plain)


def is_version(text: str) -> bool:
    return _VERSION.fullmatch(text.strip()) is not None


def meets(version: str, specifier: str) -> bool:
    """Whether a version lies in a range like '>=4.46,<4.48' or '==2.1.*' (PEP 440; local parts such as +cu121 are left
    out). What is no version lies in no range."""
    found = _VERSION.fullmatch(version.strip())
    if found is None:
        return False
    clauses = [_CLAUSE.fullmatch(part) for part in specifier.split(",")]
    return all(_holds(found, *_sides(clause, specifier)) for clause in clauses)


def split_requirement(text: str) -> tuple[str, str]:
    """'torch>=2.0,<2.3' as package and range."""
    found = _REQUIREMENT.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no requirement")
    return canonical(found.group(1)), found.group(2)


def known_versions(config: Mapping[str, Any]) -> dict[str, str]:
    """The versions among a run's settings, by package."""
    return {key.removeprefix(PREFIX): str(value) for key, value in config.items() if key.startswith(PREFIX)}


def as_settings(versions: Mapping[str, str]) -> dict[str, str]:
    return {f"{PREFIX}{package}": version for package, version in versions.items()}


def from_settings(config: Mapping[str, Any]) -> dict[str, str]:
    """Versions that tools write among their own settings ('transformers_version: 4.44.2')."""
    found: dict[str, str] = {}
    for key, value in config.items():
        match = _SETTING.fullmatch(key) if not key.startswith(PREFIX) else None
        if match is not None and isinstance(value, str) and canonical(match.group(1)) in PACKAGES and is_version(value):
            found[canonical(match.group(1))] = value.strip()
    return found


def stated_in(line: str) -> dict[str, str]:
    """The versions in a line of a log that states them and nothing else: 'pip install torch==2.3.0' may be a hint."""
    installed = _INSTALLED.search(line)
    if installed is not None:
        pairs = _WHEEL.findall(installed.group(1))
    else:
        match = _PINNED.fullmatch(line) or _STATED.fullmatch(line)
        pairs = [match.groups()] if match is not None else []
    return {canonical(name): version for name, version in pairs if canonical(name) in PACKAGES}


def listed_in(lines: Iterable[str]) -> dict[str, str]:
    """The versions in what `pip freeze`, `pip list` or a requirements file with pins says, of every package."""
    found: dict[str, str] = {}
    for line in lines:
        match = _PINNED.fullmatch(line) or re.fullmatch(rf"([A-Za-z][\w.\-]*)\s+{_NUMBER}(?:\s.*)?", line.strip())
        if match is not None:
            found[canonical(match.group(1))] = match.group(2)
    return found


def loaded() -> dict[str, str]:
    """The versions of what this process has imported. Looks at what is there and imports nothing."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for module, package in _MODULES.items():
        version = getattr(sys.modules.get(module), "__dict__", {}).get("__version__")
        if isinstance(version, str) and is_version(version):
            found[canonical(package or module)] = version
    return found


def _sides(clause: re.Match[str] | None, specifier: str) -> tuple[str, str]:
    if clause is None:
        raise ValueError(f"{specifier!r} is no range of versions")
    return clause.group(1), clause.group(2)


def _holds(found: re.Match[str], operator: str, bound: str) -> bool:
    if bound.endswith(".*"):
        wanted = _release(bound[:-2])
        same = (_release(found["release"]) + (0,) * len(wanted))[: len(wanted)] == wanted
        return same if operator == "==" else not same
    limit = _VERSION.fullmatch(bound)
    if limit is None:
        raise ValueError(f"{bound!r} is no version")
    ours, theirs = _key(found), _key(limit)
    if operator in ("==", "!="):
        return (ours == theirs) is (operator == "==")
    if operator in (">=", "<="):
        return ours >= theirs if operator == ">=" else ours <= theirs
    if ours[0] == theirs[0]:  # 2.3rc1 is not below 2.3, nor 2.3.post1 above it
        return False if theirs[1] == _FINAL else (ours > theirs if operator == ">" else ours < theirs)
    return ours > theirs if operator == ">" else ours < theirs


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _key(found: re.Match[str]) -> _Key:
    """What versions are ordered by; 2.3 and 2.3.0 are the same."""
    release = _release(found["release"])
    while len(release) > 1 and release[-1] == 0:
        release = release[:-1]
    early = _PRE[found["pre"].lower()] if found["pre"] else _FINAL
    if found["dev"] is not None and early == _FINAL:
        early = _DEV
    return (
        release,
        early,
        int(found["pre_n"] or 0),
        -1 if found["post"] is None else int(found["post"] or 0),
        -1 if found["dev"] is not None else 0,
    )


def digest_of(script: str | os.PathLike[str] | None) -> str:
    """Which version of a script this is, from its content; '' where there is none to read."""
    try:
        return "" if script is None else hashlib.sha256(Path(script).read_bytes()).hexdigest()[:16]
    except (OSError, ValueError):
        return ""
