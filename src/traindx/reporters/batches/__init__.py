"""Batches of language models as text. A package of its own, which the help of the command line need not load."""
