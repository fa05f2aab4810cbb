"""What the loss of a language model sees, token by token: the tokenizer of the process, batches with their targets, and
counts over them."""
