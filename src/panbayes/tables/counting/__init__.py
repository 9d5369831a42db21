"""Contingency tables from codes: one interface, two sets of kernels with identical results."""
