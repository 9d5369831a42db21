"""Markov networks: one law fitted to many tables at once, over a junction tree of bounded size."""
