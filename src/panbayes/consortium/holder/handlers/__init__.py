"""TRUSTED: one file per kind of query."""
