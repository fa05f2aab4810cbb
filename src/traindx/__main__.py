"""`python -m traindx` is the same command."""

from __future__ import annotations

from traindx.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
