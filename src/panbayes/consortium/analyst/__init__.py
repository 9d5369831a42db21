"""UNTRUSTED, sees releases: federation and one file per strategy."""
