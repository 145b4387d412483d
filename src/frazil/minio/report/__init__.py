"""The report: answers to operators' questions as one HTML page with plots."""
