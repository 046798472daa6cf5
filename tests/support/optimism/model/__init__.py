"""Slow model of an OP chain with Jovian: fees, deposits, receipts, headers and state.

It is written from the text of the OP specification and shares no code with the node. `optimism.model.chain` has its
entry, `ModelChain`.
"""
