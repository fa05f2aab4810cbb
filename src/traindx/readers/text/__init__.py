"""Text logs: from the lines of a terminal to named numbers and counters."""
