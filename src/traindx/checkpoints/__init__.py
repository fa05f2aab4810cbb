"""Checkpoints: weights and optimiser state on disk → facts and tables. No framework is imported, nothing is unpickled.

`find` opens a path, `parts` says which tensor is a weight and which a moment, `measure`, `initial`, `moments` and
`drift` compute, `findings` judges, `evidence` puts it into one Reading."""
