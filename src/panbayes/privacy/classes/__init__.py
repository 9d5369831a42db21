"""Classes of privacy, one file each: the loss with its algebra, and what it makes of events."""
