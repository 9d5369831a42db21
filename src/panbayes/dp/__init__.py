"""Sensitivities, mechanisms, noise sources, exact privacy loss."""
