"""Slow model of an OP chain with Jovian: fees, deposits, receipts, headers and state, from the specification's text.

It shares no code with the node. See `optimism.model.chain` for its use.
"""
