"""Restarts every process of a cluster under load, one after the other."""
