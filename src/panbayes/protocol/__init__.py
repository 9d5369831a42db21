"""The only types that cross the boundary between holder and analyst."""
