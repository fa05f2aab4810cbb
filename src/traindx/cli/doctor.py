"""`traindx doctor`: what is installed and usable here, how to get what is not, and known issues of the versions."""

from __future__ import annotations

import json
import locale
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from traindx.cli.listing import ListFormat
from traindx.cli.talk import color_wanted, emit, is_terminal, width_of
from traindx.errors import EXIT_OK, EXIT_PROBLEM_FOUND, TraindxError
from traindx.reporters.layout import Ink, hanging
from traindx.version import __version__

State = Literal["ok", "missing", "problem", "known"]
SECONDS = 60.0  # for torch to be imported: minutes on a cold network disk would hide a hang
FRAMEWORKS = ("lightning", "pytorch-lightning", "transformers", "accelerate", "keras", "optax", "ultralytics")
ABOUT = {
    "png": "plots: traindx plot, --plot",
    "mcp": "tools for agents: traindx mcp",
    "fix": "patches of scripts: traindx fix",
    "ray": "many runs on a cluster: --executor ray",
    "slurm": "trials on a Slurm cluster",
}
_ASK_PACKAGES = """
import json, platform
from importlib import metadata
found = {d.metadata["Name"]: d.version for d in metadata.distributions() if d.metadata["Name"] and d.version}
print(json.dumps({**found, "python": platform.python_version()}))
"""
_ASK_TORCH = """
import json, torch
devices = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
mps = bool(getattr(torch.backends, "mps", None) and torch.backends.mps.is_available())
print(json.dumps({"version": torch.__version__, "cuda": torch.version.cuda, "devices": devices, "mps": mps}))
"""


@dataclass(frozen=True)
class Check:
    """One line: what was looked at, how it is, and what to do where it is not well."""

    group: str
    name: str
    state: State
    says: str
    hint: str = ""


def command(
    environment: Annotated[
        Path | None, typer.Argument(help="A requirements file or the output of pip freeze: only its known issues.")
    ] = None,
    python: Annotated[
        Path | None, typer.Option("--python", help="Another interpreter: only the known issues of its packages.")
    ] = None,
    format: Annotated[
        ListFormat, typer.Option("--format", "-f", help="For reading, or for programs.")
    ] = ListFormat.text,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> int:
    """Show what is usable here (packages, torch and its devices, extras, terminal, places to write to) and which known
    issues the installed versions have. Nothing is fetched."""
    if environment is not None and python is not None:
        raise TraindxError("A file and --python were given.", "Give one of them.")
    if environment is not None:
        checks = list(_known(_versions_in(environment)))
    elif python is not None:
        checks = list(_known(_versions_of(python)))
    else:
        checks = list(_checks())
    if as_json or format is ListFormat.json:
        document: list[dict[str, Any]] = [vars(check) for check in checks]
        emit(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    else:
        emit(_text(checks, Ink(color_wanted(sys.stdout)), width_of(sys.stdout)))
    return EXIT_PROBLEM_FOUND if any(check.state in ("problem", "known") for check in checks) else EXIT_OK


def _checks() -> Iterator[Check]:
    yield Check("traindx", "traindx", "ok", f"{__version__} at {Path(__file__).parents[1]}")
    yield Check("traindx", "python", "ok", f"{platform.python_version()} at {sys.executable}, {platform.platform()}")
    yield _works()
    yield from _required()
    yield from _extras()
    yield _torch()
    yield _recorder()
    for name in FRAMEWORKS:
        version = _version(name)
        if version is not None:
            yield Check("frameworks", name, "ok", version)
    yield from _terminal()
    yield from _places()
    yield from _known({**_packages(), "python": platform.python_version()})


def _packages() -> dict[str, str]:
    """What is installed for this interpreter."""
    from traindx.versions import canonical

    found = ((one.metadata["Name"], one.version) for one in metadata.distributions())
    return {canonical(name): version for name, version in found if name and version}


def _known(versions: Mapping[str, str]) -> Iterator[Check]:
    """A line for every known issue whose versions are there."""
    from traindx.known import installed

    found = installed(versions)
    for issue, affected in found:
        have = ", ".join(f"{package} {version}" for package, version in affected.items())
        says = f"you have {have}: {issue.title}; shows only if {issue.shows_if}. {issue.happens}"
        yield Check("known issues", issue.id, "known", says, f"{issue.do.rstrip('.')}. {issue.source}")
    if not found:
        yield Check("known issues", "versions", "ok", f"none among {len(versions)} packages")


def _versions_in(path: Path) -> dict[str, str]:
    from traindx.versions import listed_in

    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise TraindxError(f"{path} cannot be read: {error.strerror or error}.", "Check its name.") from error
    versions = listed_in(text.splitlines())
    if not versions:
        raise TraindxError(f"{path} names no package with its version.", "Make one with: pip freeze > versions.txt")
    return versions


def _versions_of(python: Path) -> dict[str, str]:
    """Asked in another process, which imports nothing of the packages."""
    from traindx.versions import canonical

    try:
        done = subprocess.run([str(python), "-c", _ASK_PACKAGES], capture_output=True, text=True, timeout=SECONDS)
        says = json.loads(done.stdout)
    except OSError as error:
        raise TraindxError(
            f"{python} cannot be run: {error.strerror or error}.", "Give a Python interpreter."
        ) from error
    except (subprocess.TimeoutExpired, ValueError) as error:
        raise TraindxError(f"{python} does not say what is installed.", "Give a Python 3.8 or newer.") from error
    return {canonical(str(name)): str(version) for name, version in says.items()}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _requirements() -> list[tuple[str, str]]:
    """What traindx asks for, as (package, extra); the extra is '' for what is always needed."""
    found = []
    for line in metadata.requires("traindx") or ():
        requirement, _, marker = line.partition(";")
        extra = marker.partition("extra ==")[2].strip().strip("'\"")
        package = requirement.strip()
        for end in "<>=!~[ (":
            package = package.partition(end)[0]
        found.append((package, extra))
    return found


def _required() -> Iterator[Check]:
    for package, extra in _requirements():
        if extra:
            continue
        version = _version(package)
        if version is None:
            yield Check("needed", package, "problem", "not installed", f"pip install {package}")
        else:
            yield Check("needed", package, "ok", version)


def _extras() -> Iterator[Check]:
    by_extra: dict[str, list[str]] = {}
    for package, extra in _requirements():
        if extra:
            by_extra.setdefault(extra, []).append(package)
    for extra, packages in by_extra.items():
        versions = {package: _version(package) for package in packages}
        there = ", ".join(f"{package} {version}" for package, version in versions.items() if version is not None)
        what = ABOUT.get(extra, "")
        if None in versions.values():
            yield Check("extras", extra, "missing", what, f"pip install 'traindx[{extra}]'")
        else:
            yield Check("extras", extra, "ok", f"{there} ({what})" if what else there)


def _works() -> Check:
    """A diagnosis of a run that is known to be sick."""
    try:
        from traindx.engine import diagnose
        from traindx.readers.specimen import diverging

        page = diagnose(diverging())
    except Exception as error:
        return Check(
            "traindx",
            "diagnosis",
            "problem",
            f"{type(error).__name__}: {error}",
            "pip install --force-reinstall traindx",
        )
    if page.verdict != "unhealthy":
        return Check(
            "traindx", "diagnosis", "problem", f"a diverging run is called {page.verdict}", "Please report this."
        )
    return Check("traindx", "diagnosis", "ok", "a run that diverges is recognised")


def _torch() -> Check:
    """Asked in another process: an import of torch that crashes or hangs must not take us along."""
    if _version("torch") is None:
        hint = "pip install torch; logs and checkpoints need none"
        return Check("pytorch", "torch", "missing", "run, probe, fix and trial need it", hint)
    try:
        done = subprocess.run([sys.executable, "-c", _ASK_TORCH], capture_output=True, text=True, timeout=SECONDS)
        says = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return Check(
            "pytorch",
            "torch",
            "problem",
            f"importing it takes more than {SECONDS:.0f} s",
            "Try: python -c 'import torch'",
        )
    except ValueError:
        why = done.stderr.strip().splitlines()[-1:] or ["it ended without a word"]
        return Check(
            "pytorch", "torch", "problem", f"cannot be imported: {why[0]}", "Install torch again for this Python."
        )
    devices = ", ".join(says["devices"]) or ("Apple GPU" if says["mps"] else "")
    built = f" (built for CUDA {says['cuda']})" if says["cuda"] and not says["devices"] else ""
    return Check("pytorch", "torch", "ok", f"{says['version']}, {devices or f'no GPU is usable{built}'}")


def _recorder() -> Check:
    """Whether a child of ours takes up what `traindx run` gives it."""
    from traindx.live.host.launch import launch
    from traindx.live.host.startup_report import SEEN

    with tempfile.TemporaryDirectory(prefix="traindx-doctor-") as place:
        seen = Path(place) / "seen"
        code = launch([sys.executable, "-c", "pass"], Path(place) / "none.traindx", {}, None, seen)
        reached = seen.exists()
    if reached and code == 0:
        return Check("pytorch", "recorder", "ok", f"reaches the scripts that `traindx run` starts ({SEEN})")
    return Check(
        "pytorch", "recorder", "problem", "does not reach Python processes started from here",
        "Is PYTHONPATH ignored here (python -I, a wrapper)? Use `with traindx.watch(model):` instead.",
    )  # fmt: skip


def _terminal() -> Iterator[Check]:
    encoding = (sys.stdout.encoding or locale.getpreferredencoding(False)).lower()
    try:
        "⣿┤·".encode(encoding)
        draws = "draws curves"
    except (UnicodeEncodeError, LookupError):
        draws = "cannot draw curves: they become question marks"
    kind = "a terminal" if is_terminal(sys.stdout) else "no terminal"
    color = "with colour" if color_wanted(sys.stdout) else "without colour"
    yield Check("terminal", "output", "ok", f"{kind}, {width_of(sys.stdout)} columns, {color}, {encoding}, {draws}")


def _places() -> Iterator[Check]:
    for name, place in (("working directory", Path.cwd()), ("temporary files", Path(tempfile.gettempdir()))):
        yield _writable(name, place, "recordings go there" if name.startswith("working") else "")
    from traindx.casebook.places import VARIABLE, book_path

    book = book_path()
    if book is None:
        yield Check("places", "case book", "ok", "off")
        return
    folder = next((parent for parent in (book.parent, *book.parents) if parent.exists()), book.parent)
    there = f"{book}, {book.stat().st_size / 1024:.0f} KiB" if book.exists() else f"{book}, none yet"
    if os.access(book if book.exists() else folder, os.W_OK):
        yield Check("places", "case book", "ok", there)
    else:
        yield Check(
            "places", "case book", "problem", f"{there}, cannot be written", f"{VARIABLE}=off, or {VARIABLE}=PATH"
        )


def _writable(name: str, place: Path, use: str) -> Check:
    try:
        with tempfile.NamedTemporaryFile(dir=place, prefix=".traindx-"):
            return Check("places", name, "ok", f"{place}" + (f", {use}" if use else ""))
    except OSError as error:
        return Check(
            "places", name, "problem", f"{place}: {error.strerror or error}", "Choose another, or free some space."
        )


def _text(checks: list[Check], ink: Ink, width: int) -> str:
    lines: list[str] = []
    group = ""
    marks = {
        "ok": ink("ok", "green"),
        "missing": ink("--", "dim"),
        "problem": ink("!!", "red"),
        "known": ink(" !", "yellow"),
    }
    for check in checks:
        if check.group != group:
            group = check.group
            lines += [*([""] if lines else []), ink(group, "heading")]
        says = [check.says] * bool(check.says) + ([f"→ {check.hint}"] if check.hint else [])
        lines += hanging(f"  {marks[check.state]}  {check.name}", says, 26, width)
    bad = sum(check.state == "problem" for check in checks)
    works = [] if checks[0].group == "known issues" else ["All that is needed works."]
    lines += ["", *([f"{bad} need attention (!!)."] if bad else works)]
    known = sum(check.state == "known" for check in checks)
    lines += [f"{known} known issue{'s' if known > 1 else ''} of these versions ( !)."] if known else []
    return "\n".join(lines) + "\n"
