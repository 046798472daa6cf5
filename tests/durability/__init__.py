"""Kills of a real node under load, and the checks of its clients afterwards: see README.md in the folder above."""
