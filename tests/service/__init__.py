"""Tests of the service that feeds states."""
