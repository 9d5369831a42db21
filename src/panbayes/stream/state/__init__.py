"""What persists of a stream: one value, in memory or in a file."""
