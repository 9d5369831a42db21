"""Both sides in one process, with the boundary kept."""
