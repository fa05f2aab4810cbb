"""From what torch does to events that instruments hear: the hub, its budget, and what it knows of models."""
