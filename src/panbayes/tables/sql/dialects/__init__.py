"""Dialects of SQL, one file each."""
