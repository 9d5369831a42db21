"""TRUSTED, sees records: answers to queries, the gate."""
