"""Clients that load a node and record its responses, and the comparison of these records afterwards."""
