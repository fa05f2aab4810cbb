"""The design in one place: colours, type and spacing of report, dashboard, docs and figures.

Text is at least 4.5 to 1 against what lies behind it, in both schemes (axe in tests/browser). Good, bad and open differ
in brightness as well as in hue, and the series are the palette of Okabe and Ito: both survive colour blindness."""

from __future__ import annotations

from collections.abc import Mapping

LIGHT: Mapping[str, str] = {
    "back": "#f5f6f8",
    "card": "#ffffff",
    "sunk": "#f0f2f5",
    "ink": "#1a1f26",
    "soft": "#525c68",
    "line": "#d9dfe6",
    "accent": "#0a58a8",
    "bad": "#b3261e",
    "bad-back": "#fdf0ee",
    "warn": "#815200",
    "warn-back": "#fdf4e0",
    "good": "#146c3c",
    "good-back": "#eaf7ef",
    "s0": "#0072b2",
    "s1": "#d55e00",
    "s2": "#00805d",
    "s3": "#7f4f9b",
    "s4": "#9a6f00",
    "s5": "#3a8fc4",
    "s6": "#b8578f",
    "s7": "#666666",
    "s8": "#8c564b",
    "s9": "#0e8793",
    "shadow": "0 1px 2px rgb(20 30 45 / 6%), 0 4px 16px rgb(20 30 45 / 5%)",
    "mono": 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
}
DARK: Mapping[str, str] = {
    "back": "#0e1217",
    "card": "#161b22",
    "sunk": "#0f141a",
    "ink": "#e7ebf0",
    "soft": "#a3aebb",
    "line": "#2c3540",
    "accent": "#74b8ff",
    "bad": "#ff9a8f",
    "bad-back": "#38191a",
    "warn": "#f2c063",
    "warn-back": "#33270f",
    "good": "#6fd79d",
    "good-back": "#12301f",
    "s0": "#5ab4ef",
    "s1": "#ff9a52",
    "s2": "#3fcfa3",
    "s3": "#c9a3e6",
    "s4": "#e3b94a",
    "s5": "#9bd5fa",
    "s6": "#f2add3",
    "s7": "#b8c0c9",
    "s8": "#d1a093",
    "s9": "#66e2ec",
    "shadow": "none",
}


def style_sheet() -> str:
    """The tokens as custom properties: light, dark where the system asks for it, and either where a page sets it."""
    light, dark = (f"color-scheme: {name}; {_properties(of)}" for name, of in (("light", LIGHT), ("dark", DARK)))
    return (
        f":root {{ {light} }}\n"
        f'@media (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}\n'
        f':root[data-theme="dark"] {{ {dark} }}\n'
    )


def docs_style_sheet() -> str:
    """The same for the documentation, whose theme has schemes of its own."""
    by_scheme = (("default", LIGHT), ("slate", DARK))
    return "".join(f'[data-md-color-scheme="{scheme}"] {{ {_properties(of)} }}\n' for scheme, of in by_scheme)


def _properties(tokens: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {value};" for name, value in tokens.items())
