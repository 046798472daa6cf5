"""Addresses that every OP chain has: predeploys, fee vaults and the sender of L1 attributes (OP specification)."""

SEQUENCER_FEE_VAULT = bytes.fromhex("4200000000000000000000000000000000000011")
L1_BLOCK = bytes.fromhex("4200000000000000000000000000000000000015")
MESSAGE_PASSER = bytes.fromhex("4200000000000000000000000000000000000016")
BASE_FEE_VAULT = bytes.fromhex("4200000000000000000000000000000000000019")
L1_FEE_VAULT = bytes.fromhex("420000000000000000000000000000000000001a")
OPERATOR_FEE_VAULT = bytes.fromhex("420000000000000000000000000000000000001b")
DEPOSITOR = bytes.fromhex("deaddeaddeaddeaddeaddeaddeaddeaddead0001")
"""Sender of the L1 attributes deposit; it has no key."""
