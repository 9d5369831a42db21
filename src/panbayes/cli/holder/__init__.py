"""The verbs of ``panbayes holder``, one file for each or for a few that are alike."""
