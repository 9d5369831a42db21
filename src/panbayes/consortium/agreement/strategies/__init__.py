"""PUBLIC: one file per strategy: what it reads of a study, and the plan that follows."""
