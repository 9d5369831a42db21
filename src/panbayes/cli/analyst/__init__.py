"""The verbs of ``panbayes analyst`` that have a file of their own."""
