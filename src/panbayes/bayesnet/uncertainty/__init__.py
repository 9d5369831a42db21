"""How wrong an answer may be: other laws that the same measurements would allow, and the intervals they span."""
