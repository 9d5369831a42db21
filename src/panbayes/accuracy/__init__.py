"""Predicted errors: formulas only."""
