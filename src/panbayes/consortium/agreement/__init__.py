"""PUBLIC: what a study agrees on."""
