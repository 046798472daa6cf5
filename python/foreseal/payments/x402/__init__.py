"""Paid HTTP requests (x402 v2), based on the package `x402`. Needs the extra `foreseal[x402]`.

Design: docs/design/decisions/x402.md.
"""
