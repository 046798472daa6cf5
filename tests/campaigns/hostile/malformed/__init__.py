"""Malformed requests, and connections that never complete a request."""
