"""Facilitator of paid requests."""
