"""How strongly a child depends on its parents: one score a file."""
