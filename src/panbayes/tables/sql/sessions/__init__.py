"""Open databases, one file for each kind: what a source of that kind loads when a table of it is opened."""
