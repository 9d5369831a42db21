"""Who appears in a stream: universes, and how ids are read."""
