"""What is foreseen of each strategy, one file each (voting and local models are alike and share theirs)."""
