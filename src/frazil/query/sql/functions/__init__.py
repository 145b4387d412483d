"""Trino's functions in the embedded engine: declared signatures, and builders where a signature does not say enough."""
