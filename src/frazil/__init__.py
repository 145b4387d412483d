"""Streams into lakehouse tables."""
