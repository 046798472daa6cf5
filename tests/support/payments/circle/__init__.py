"""Runs the tests of Circle's stablecoin contracts, unmodified, on a node."""
