"""Enters a sandbox and becomes a command: `python -I start.py MECHANISM LIMITS COMMAND…`."""

import json
import os
import sys

REFUSED = 126  # the exit code of a shell for what cannot be run


def main() -> None:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    sys.path.insert(0, root)  # an isolated interpreter may not know where traindx is, or know another one
    from traindx.trials.sandbox import Limits, enter

    sys.path.remove(root)
    name, limits, command = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]
    try:
        enter(name, Limits(tuple(limits["writable"]), limits["network"]))
    except OSError as error:
        sys.exit(f"traindx: the trial was not started: {name} could not be set up ({error})")
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"{command[0]} cannot be started: {error.strerror or error}", file=sys.stderr)
        sys.exit(REFUSED)


if __name__ == "__main__":
    main()
