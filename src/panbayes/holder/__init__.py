"""TRUSTED, sees records: sources, ledger, the gate, one file per kind of answer."""
