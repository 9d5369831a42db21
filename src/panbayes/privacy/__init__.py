"""WHAT IS PROMISED: losses, events, their composition, the statement. No data, no randomness."""
