"""Processes that run with the node under test, and the checks that they follow it."""
