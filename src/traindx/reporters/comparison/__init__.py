"""Comparison → text, Markdown, JSON, HTML. They show what the comparison found and compute nothing of their own. Import
the format that is needed from its module: this package is imported by `traindx --help`."""
