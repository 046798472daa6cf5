"""Payments on an Ethereum chain: merchant ledger, payment contracts, and x402 for sellers and buyers of APIs."""
