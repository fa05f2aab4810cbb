"""Ways in for those who train with a framework: one module a framework, each importing its framework and nothing else.

`session` holds what the callbacks of torch's frameworks share: the recorder of `live/` around one training.
`standalone` does the same for Keras and JAX, where there is no torch to watch. Installing traindx starts nothing: a
callback records where the script names it, and `asked` says when one may come by itself."""
