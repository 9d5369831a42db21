"""BOTH SIDES: the only types that cross the boundary, and their bytes."""
