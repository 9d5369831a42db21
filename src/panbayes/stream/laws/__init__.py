"""How an entry of the state is drawn: one file for each law, and what they share."""
