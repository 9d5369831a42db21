"""One file per verb, loaded when it is called."""
