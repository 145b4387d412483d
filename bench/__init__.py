"""Figures of frazil beside Kafka Connect, on the same records, tables and machine. Run with `python -m bench`."""
