"""Both sides in one process: what ``panbayes learn`` runs by default."""
