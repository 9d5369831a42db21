"""JOB 1: holders, and an analyst whom nobody trusts."""
