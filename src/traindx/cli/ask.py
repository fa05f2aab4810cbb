"""`traindx ask`: the interview. On a terminal it asks; with --answers it reads them; a sentence gets the reply it
deserves."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from traindx.cli.talk import cannot_write, check_writable, color_wanted, emit, is_terminal, say, width_of
from traindx.errors import EXIT_OK, TraindxError

if TYPE_CHECKING:
    from traindx.interview import Reply, Session
    from traindx.run import Run

STATE = Path(".traindx-ask.json")
LARGEST = 4 << 20  # bytes of a file with answers, settings or source
SCRIPT_SUFFIX, CONFIG_SUFFIXES = ".py", (".yaml", ".yml")


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN | SCRIPT.py | CONFIG | 'WHAT YOU SEE'", help="What there is: any of these, or nothing."
        ),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Answers as JSON or YAML instead of a terminal (docs/interview.md)."),
    ] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the interview here after every answer.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help=f"Go on where --state (or {STATE}) ended.")] = False,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write interview and diagnosis as JSON (- for stdout)."),
    ] = None,
) -> int:
    """Ask what is needed to find the cause, in order of what it settles; a log helps and is not required."""
    for place in (state, None if json_file == Path("-") else json_file):
        check_writable(place)
    given = classified(words or [])
    held = _load(state or STATE) if resume else None
    session = _session(given, held, _load_answers(answers) if answers is not None else {})
    replies = [reply for text in given.sentences if (reply := session.says(text)) is not None]
    asks = answers is None and is_terminal(sys.stdin) and is_terminal(sys.stderr)
    if not asks and answers is None and not (words or resume):
        raise TraindxError(
            "`traindx ask` needs a terminal.", "Without one, give --answers FILE, a run, or a sentence in quotes."
        )
    if any(reply.kind == "hand-over" for reply in replies) or (replies and not asks and not _knows(session)):
        _show_replies(replies, session, json_file)
        return EXIT_OK
    if asks:
        return _hold(session, replies, state, json_file)
    if given.sentences and not _knows(session):
        raise TraindxError(
            f"{given.sentences[0][:60]!r} was not understood.",
            "Say what you see: the loss is flat, swings, became NaN, …",
        )
    if json_file != Path("-"):
        _print_replies(replies)
    return _finish(session, replies, json_file)


def interview() -> int:
    """`traindx` with no arguments on a terminal."""
    return command(None, None, None, False, None)


@dataclass
class Given:
    """What stands on the command line, by kind."""

    runs: list[Path] = field(default_factory=list)
    scripts: list[Path] = field(default_factory=list)
    configs: list[Path] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)


def classified(words: Sequence[str]) -> Given:
    """Paths that exist are a script, a config or a run; what cannot be a path is a sentence."""
    given = Given()
    loose: list[str] = []
    for word in words:
        path = Path(word)
        if os.path.exists(word):  # unlike Path.exists it takes a whole sentence without an error
            if path.suffix == SCRIPT_SUFFIX:
                given.scripts.append(path)
            elif path.suffix in CONFIG_SUFFIXES:
                given.configs.append(path)
            else:
                given.runs.append(path)
        elif (
            path.suffix in (SCRIPT_SUFFIX, *CONFIG_SUFFIXES, ".csv", ".json", ".jsonl", ".log", ".traindx")
            and " " not in word
        ):
            raise TraindxError(f"{word} does not exist.", "Check the path; a question goes in quotes.")
        else:
            loose.append(word)
    if loose:
        given.sentences.append(" ".join(loose))
    return given


def _session(given: Given, held: Mapping[str, Any] | None, answered: Mapping[str, Any]) -> Session:
    from traindx.interview import ScriptReading, Session, read_script, start
    from traindx.questions import questions
    from traindx.readers.settings import load_settings

    for name, places in (("run", given.runs), ("script", given.scripts), ("config", given.configs)):
        if answered.get(name):
            places.append(_there(Path(str(answered[name]))))
    if answered.get("says"):
        given.sentences.append(str(answered["says"]))
    settings: dict[str, Any] = {}
    for path in given.configs:
        settings |= load_settings(path)
    script = ScriptReading()
    if given.scripts:
        script = read_script(_text(given.scripts[0]), str(given.scripts[0]))
    if held is not None:
        runs = given.runs or ([Path(held["run"])] if held.get("run") and Path(held["run"]).exists() else [])
        session = Session.from_json(held, _run(runs))
        session.settings |= settings
        session.script = script if given.scripts else session.script
    else:
        session = start(_run(given.runs), script, settings)
    stated = answered.get(
        "answers", {name: value for name, value in answered.items() if name not in ("run", "script", "config", "says")}
    )
    if not isinstance(stated, Mapping):
        raise TraindxError("`answers` is no mapping of questions to answers.", f"Questions: {', '.join(questions())}.")
    for name, value in stated.items():
        session.answer(str(name), value)
    return session


def _run(paths: Sequence[Path]) -> Run | None:
    if not paths:
        return None
    from traindx.cli.gather import gather

    runs = gather(list(paths))
    if len(runs) > 1:
        say(f"{len(runs)} runs found; the interview is about the first, {runs[0].name or runs[0].source}.")
    return runs[0]


def _knows(session: Session) -> bool:
    """There is anything to base a ranking on."""
    from traindx.diagnosis import ANSWERS

    return bool(session.said or session.answers or session.run.format != ANSWERS or session.script.name)


def _hold(session: Session, replies: Sequence[Reply], state: Path | None, json_file: Path | None) -> int:
    from traindx.cli.dialogue import Dialogue

    def save() -> None:
        if state is not None:
            _save(session, state)

    dialogue = Dialogue(
        session, _line, _talk, color=color_wanted(sys.stderr), width=width_of(sys.stderr), answered=save
    )
    for reply in replies:
        dialogue.reply(reply)
    finished = dialogue.hold()
    if not finished and state is None and session.answers:
        _talk(f"Keep the answers in {STATE} to go on later with --resume? [y/N]")
        if (_line() or "").strip().lower() in ("y", "yes"):
            _save(session, STATE)
    _talk("")
    return _finish(session, replies, json_file)


def _finish(session: Session, replies: Sequence[Reply], json_file: Path | None) -> int:
    from traindx.cli.diagnose import exit_code, report
    from traindx.reporters import reporters

    page = session.diagnosis()
    if json_file is not None:
        _write_json(json_file, _document(session, replies))
    if json_file != Path("-"):
        report([page], reporters()["text"], None)
    return exit_code([page])


def _document(session: Session, replies: Sequence[Reply], *, diagnosed: bool = True) -> dict[str, Any]:
    following = session.question() if diagnosed else None
    return {
        "schema": "traindx.interview/1", "session": session.to_json(),
        "replies": [reply.to_json() for reply in replies],
        "question": None if following is None else following.to_json(),
        "diagnosis": session.diagnosis().to_json() if diagnosed else None,
    }  # fmt: skip


def _show_replies(replies: Sequence[Reply], session: Session, json_file: Path | None) -> None:
    if json_file is not None:
        _write_json(json_file, _document(session, replies, diagnosed=False))
    if json_file != Path("-"):
        _print_replies(replies)
        if all(reply.kind == "misdiagnosis" for reply in replies):
            emit('   To find the cause: traindx ask RUN, or traindx ask "what you see"\n')


def _print_replies(replies: Sequence[Reply]) -> None:
    from traindx.cli.dialogue import reply_lines

    for reply in replies:
        emit("\n".join(reply_lines(reply, width_of(sys.stdout))).replace("   ", "", 1) + "\n")


def _line() -> str | None:
    sys.stderr.write("> ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    return line if line else None


def _talk(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _save(session: Session, place: Path) -> None:
    _write_json(place, session.to_json())


def _write_json(place: Path, document: Mapping[str, Any]) -> None:
    text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    try:
        emit(text, None if place == Path("-") else place)
    except OSError as error:
        raise cannot_write(place, error) from error


def _load(place: Path) -> Mapping[str, Any]:
    if not place.is_file():
        raise TraindxError(f"there is no interview in {place}.", "Start one: traindx ask --state FILE")
    return _mapping(place, "interview")


def _load_answers(place: Path) -> Mapping[str, Any]:
    if not _there(place).is_file():
        raise TraindxError(f"--answers {place} is no file.", "Give a JSON or YAML file (docs/interview.md).")
    return _mapping(place, "answers")


def _mapping(place: Path, what: str) -> Mapping[str, Any]:
    import yaml

    text = _text(place)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        try:
            data = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise TraindxError(
                f"{place} is neither JSON nor YAML.", f"It should hold {what} (docs/interview.md)."
            ) from error
    if not isinstance(data, Mapping):
        raise TraindxError(f"{place} holds no {what}.", "See docs/interview.md for its form.")
    return data


def _there(place: Path) -> Path:
    if not place.exists():
        raise TraindxError(f"{place} does not exist.", "Check the path.")
    return place


def _text(place: Path) -> str:
    try:
        with place.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise TraindxError(f"{place} cannot be read: {error.strerror or error}.", "Check its permissions.") from error
    if len(data) > LARGEST:
        raise TraindxError(f"{place} is larger than {LARGEST >> 20} MB.", "Give a file made by hand.")
    return data.decode("utf-8-sig", errors="replace")
