"""Alerts provoked on real nodes and seen in a real Prometheus."""
