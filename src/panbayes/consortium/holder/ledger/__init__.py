"""TRUSTED: what a holder has spent, on disk."""
