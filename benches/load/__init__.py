"""Requests per second under granian, in one interleaved run with a bare application."""
