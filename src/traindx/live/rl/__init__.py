"""Reinforcement learning and preference optimisation inside a training: finding the quantities of the objective by the
names of variables and by their numbers, and measuring how they fit together."""
