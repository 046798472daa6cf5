"""Wallets that are contracts, against every operation and entrance of the payment side."""
