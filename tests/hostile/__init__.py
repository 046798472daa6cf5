"""Clients that mean no good, and what honest ones notice of them."""
