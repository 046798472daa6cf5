"""Hostile clients, and their effect on honest clients."""
