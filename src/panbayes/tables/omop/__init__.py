"""ONE ROW A PERSON OF AN OMOP DATABASE: features as one SELECT, in any dialect, and vocabularies written out."""
