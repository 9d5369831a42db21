"""Files that hold a network."""
