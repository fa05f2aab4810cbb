"""Being a guest in somebody else's process: starting there, patching and undoing it, children, ranks."""
