"""Structure and parameters from counts, exact or noisy."""
