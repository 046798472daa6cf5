"""Paid HTTP requests (x402 v2), on the package `x402`: needs the extra `foreseal[x402]`."""
