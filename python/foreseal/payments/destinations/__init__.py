"""Destinations of payments: pairs of a token and a payee's key, each with the components that handle it."""
