"""WHAT A TABLE MAY HOLD: attributes, the public schema, strict TOML. No data, no randomness."""
