"""How wrong an estimate may be: formulas only."""
