"""Where tables come from and go to: one file for each kind of source, found by its name or by what it is."""
