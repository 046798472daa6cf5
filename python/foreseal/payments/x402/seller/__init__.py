"""Seller of paid requests."""
