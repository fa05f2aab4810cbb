"""Comparing runs. Pure: small summaries of runs go in, a Comparison comes out; it reads no file and knows no clock."""
