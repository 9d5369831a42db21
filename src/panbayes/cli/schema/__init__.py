"""The verbs of ``panbayes schema`` that ask a declared dataset."""
