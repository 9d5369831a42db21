"""Numbers that are certainly above: bounds that hold whatever floating point does."""
