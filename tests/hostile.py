"""Names that try to become markup or script, for everything that shows names from a log."""

from __future__ import annotations

HOSTILE = (
    "<script>window.owned=1</script>",
    "</script><script>window.owned=2</script>",
    "\"><img src=x onerror=window.owned=3>",
    "'><svg/onload=window.owned=4>",
    "javascript:window.owned=5",
    "<!--<script>window.owned=6//-->",
    "</textarea><script>window.owned=7</script>",
    "</style><style>*{display:none}</style>",
    "${window.owned=8}{{constructor.constructor('window.owned=9')()}}",
    "<iframe srcdoc='<script>parent.owned=10</script>'>",
    "`onmouseover=window.owned=11 x=`",
    "\u2028window.owned=12\u2029",
    "\x1b]8;;javascript:window.owned=13\x07click\x1b]8;;\x07",
    "<math><mi//xlink:href=\"data:x,<script>window.owned=14</script>\">",
    "]]><details open ontoggle=window.owned=15>",
    "<base href=//evil.example>",
    "\u202egnp.exe<a href=javascript:window.owned=16>x</a>",
)  # fmt: skip
