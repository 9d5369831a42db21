"""How each statistic is calibrated, and what its releases mean."""
