"""Exact answers from a network: a junction tree, samples, likelihoods."""
