"""Foreseal: an Ethereum-compatible layer-2 node whose pending block is real."""
