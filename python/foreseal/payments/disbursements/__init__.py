"""Outgoing payments of the merchant: refunds and payouts."""
