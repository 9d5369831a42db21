"""BOTH SIDES, AND ANY RELAY: keys, signatures, letters, and the folder they lie in; nothing of records."""
