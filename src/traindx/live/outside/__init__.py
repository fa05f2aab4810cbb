"""In the process that reads: following a recording while it is written, alerts, the page, notebooks."""
