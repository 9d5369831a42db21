"""Compiled loops over many tables at once; loaded when a score first needs them."""
