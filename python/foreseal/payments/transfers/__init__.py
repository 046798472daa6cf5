"""Transfers to the merchant: found on the chain, matched to orders, and balanced."""
