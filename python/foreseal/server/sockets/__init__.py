"""Listening sockets: addresses, TLS, and the sockets themselves."""
