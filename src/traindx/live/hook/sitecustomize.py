"""Put first on PYTHONPATH by `traindx run`: starts the recorder when torch is imported, then gives way to whatever
sitecustomize the environment has of its own."""

import contextlib
import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _give_way() -> None:
    others = [path for path in sys.path if os.path.abspath(path or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if os.environ.get("TRAINDX_RECORD"):
    try:
        from traindx.live.host.bootstrap import await_torch

        await_torch()
    except Exception as error:  # never in the way of the user's program
        with contextlib.suppress(Exception):  # a stream that is closed or full
            sys.stderr.write(f"traindx: not recording ({type(error).__name__}: {error})\n")
_give_way()
