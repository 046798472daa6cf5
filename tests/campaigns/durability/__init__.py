"""Kills of a real node under load, and the checks of its clients afterwards: see tests/README.md."""
