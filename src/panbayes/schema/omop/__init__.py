"""WHAT IS ASKED OF AN OMOP DATABASE: a cohort and features of public concepts, and the schema that follows. No data."""
