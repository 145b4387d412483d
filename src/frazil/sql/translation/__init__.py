"""Trino's SQL to that of the embedded engine: names, types, functions and what a statement needs from tables."""
