"""traindx for agents: the same functions as tools of the Model Context Protocol, over stdin and stdout."""
