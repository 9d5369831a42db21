"""How much a look at the state and all outputs reveal, proved."""
