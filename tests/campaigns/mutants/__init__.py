"""Deliberate faults, each of which a test must catch."""
