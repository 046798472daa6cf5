"""Paths of JSON-RPC: one node, read in three ways."""

STANDARD = "/"
"""Path of the standard endpoint."""

READ_MODES = {
    STANDARD: "standard",
    "/sealed": "sealed",
    "/sealed/": "sealed",
    "/preconfirmed": "preconfirmed",
    "/preconfirmed/": "preconfirmed",
}
"""Paths, on HTTP and WebSocket, with the mode in which requests read views.

standard: `latest` is the newest sealed block; receipts, transactions and hashes of steps resolve. sealed: as on a chain
without steps, except for the tag `pending`. preconfirmed: `latest` is the newest step.
"""
