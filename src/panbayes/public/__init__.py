"""Known to all: schema, study, exact privacy arithmetic, privacy statement. No data, no randomness."""
