"""Kills of a real node under load, and what its clients find afterwards: see README.md in the folder above."""
