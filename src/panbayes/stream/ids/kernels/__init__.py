"""Compiled readers of ids: from bytes to slots without a Python object per id."""
