"""Inside the training process: the recorder, what it watches, and the ways to start it.

Guest manners hold everywhere in this package: the training's numbers, random state, exceptions and signatures are never
changed, the device is never synchronised in the hot path, and a fault of ours ends our watching, not the training.
"""
