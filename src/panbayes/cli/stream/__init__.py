"""Parts of the verb stream that are too long for its file."""
