"""UNTRUSTED: one file per strategy, a small function over ``ask``."""
