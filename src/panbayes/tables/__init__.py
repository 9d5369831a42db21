"""Encoding by a public schema, integer codes, counting kernels: for any table, private or synthetic."""
