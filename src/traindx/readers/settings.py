"""Settings files beside a log (YAML or JSON) as one flat mapping. Nothing in them is ever executed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from traindx.readers.reach import open_file
from traindx.run import flatten

_MAX_BYTES = 4 << 20  # hand-written settings are far smaller; a larger file is data
_MAX_YAML_BYTES = 1 << 18  # Python reads about 80 KB of YAML in a second
_MAX_NODES = 100_000  # aliases can unfold a small YAML file into billions of nodes
_NUMBER_TEXT = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def load_settings(path: Path) -> dict[str, Any]:
    """The settings in this file as 'a.b.c' keys; empty when it is missing, damaged or holds no mapping."""
    try:
        with open_file(path) as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError:
        return {}
    if len(data) > _MAX_BYTES:
        return {}
    return settings_from(data.decode("utf-8-sig", errors="replace"))


def settings_from(text: str) -> dict[str, Any]:
    """The same for text already at hand."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = _from_yaml(text)
    if not isinstance(value, Mapping) or not _bounded(value):
        return {}
    return {key: _as_number(item) for key, item in flatten(value).items()}


def _from_yaml(text: str) -> Any:
    import yaml

    if len(text) > _MAX_YAML_BYTES:
        return None
    fastest: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class TaglessLoader(fastest):  # type: ignore[valid-type,misc]
        """Objects of other programs' classes are read as the plain mapping, list or word they are written as."""

    def plain(loader: yaml.SafeLoader, _: str, node: yaml.Node) -> Any:
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True)
        return loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else None

    TaglessLoader.add_multi_constructor("", plain)
    try:
        return next(iter(yaml.load_all(text, Loader=TaglessLoader)), None)
    # besides YAMLError, the library lets through whatever a malformed date, key or number raises
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError, OverflowError):
        return None


def _bounded(value: Any) -> bool:
    """Whether the settings, aliases unfolded, stay within reason."""
    seen = 0
    pending = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        seen += 1
        if seen > _MAX_NODES or depth > 50:
            return False
        if isinstance(item, Mapping):
            pending.extend((inner, depth + 1) for inner in item.values())
        elif isinstance(item, list | tuple | set):
            pending.extend((inner, depth + 1) for inner in item)
    return True


def _as_number(value: Any) -> Any:
    """YAML 1.1 takes '1e-3' for a word; in settings it is a number."""
    if isinstance(value, str) and _NUMBER_TEXT.fullmatch(value.strip()):
        return float(value)
    return value
