"""Whom the density is a fraction of: one file for each kind of universe, and what they share."""
