"""Payments on an Ethereum chain: what a merchant or a seller of an API builds on the node."""
