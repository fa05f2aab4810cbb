"""Runs a script, module or command in this very process with the recorder in it, for interpreters that ignore
PYTHONPATH or sitecustomize: `python -I …/inside.py train.py`. The program sees itself as `__main__`, as ever."""

import contextlib
import os
import runpy
import sys
import types

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def _start() -> None:
    try:
        sys.path.append(_ROOT)  # an isolated interpreter may not know where traindx is
        try:
            from traindx.live.host.bootstrap import await_torch
        finally:
            sys.path.remove(_ROOT)
        await_torch()
    except Exception as error:  # never in the way of the user's program
        with contextlib.suppress(Exception):  # a stream that is closed or full
            sys.stderr.write(f"traindx: not recording ({type(error).__name__}: {error})\n")


def _show(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
    """Show an exception without the frames of this file."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


def _run(arguments: list[str]) -> None:
    first, safe = arguments[0], sys.flags.safe_path
    if first == "-m":
        if not safe:
            sys.path[0] = os.getcwd()
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    if first == "-c":
        if not safe:
            sys.path[0] = ""
        sys.argv = ["-c", *arguments[2:]]
        exec(compile(arguments[1], "<string>", "exec"), main.__dict__)
        return
    if not safe:
        sys.path[0] = os.path.dirname(os.path.realpath(first))
    sys.argv = arguments
    main.__file__ = os.path.abspath(first)
    with open(first, "rb") as file:
        code = compile(file.read(), main.__file__, "exec")
    exec(code, main.__dict__)


if __name__ == "__main__":
    sys.excepthook = _show
    _start()
    _run(sys.argv[1:])
