"""How a stream of ids is written: one file for each format, and what they share."""
