"""Tests of how wrong an answer may be."""
