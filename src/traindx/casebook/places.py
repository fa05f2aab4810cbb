"""Where the case book is: the project's, found upwards from here, else the user's; or nowhere, with one setting."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path

VARIABLE = "TRAINDX_CASES"  # 'off', or the path of a case book
FOLDER, FILE, CONFIG = ".traindx", "cases.sqlite", "config.toml"
OFF = frozenset({"off", "0", "no", "false"})


def book_path() -> Path | None:
    """The file to use, which need not exist yet; None where the case book is off.

    The environment decides first, then `cases = "off"` (or a path) in .traindx/config.toml of the project, then in the
    user's config.toml. On a CI machine only a project's own book is used: what nobody will read is litter."""
    try:
        return _decided()
    except RuntimeError:  # there is no home directory
        return None


def _decided() -> Path | None:
    reported = os.environ.get(VARIABLE, "").strip()
    if reported:
        return None if reported.lower() in OFF else Path(reported).expanduser()
    project = project_folder()
    for config in (project / CONFIG if project is not None else None, config_home() / CONFIG):
        setting = _setting(config)
        if setting is not None:
            return None if setting.lower() in OFF else Path(setting).expanduser()
    if project is not None and (project / FILE).exists():
        return project / FILE
    if os.environ.get("CI"):
        return None
    return data_home() / FILE


def project_folder() -> Path | None:
    """The nearest .traindx folder upwards from the working directory."""
    try:
        here = Path.cwd()
    except OSError:  # the working directory is gone
        return None
    return next((place / FOLDER for place in (here, *here.parents) if (place / FOLDER).is_dir()), None)


def data_home() -> Path:
    """The folder for data of this user, by the platform's custom."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "traindx"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "traindx"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "traindx"


def config_home() -> Path:
    if sys.platform in ("darwin", "win32"):
        return data_home()
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "traindx"


def _setting(config: Path | None) -> str | None:
    if config is None or not config.is_file():
        return None
    try:
        value = tomllib.loads(config.read_text("utf-8")).get("cases")
    except (OSError, ValueError):
        return None
    if isinstance(value, bool):
        return None if value else "off"
    return value if isinstance(value, str) and value.strip() else None
