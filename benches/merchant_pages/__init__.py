"""Measurements and pictures of the dashboard and the checkout."""
