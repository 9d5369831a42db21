"""Databases as sources: what a schema makes of a column as SQL, and codes that come back as few integers."""
