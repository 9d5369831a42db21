"""UNTRUSTED: the strategy that measures little, and only what the noise leaves worth measuring."""
