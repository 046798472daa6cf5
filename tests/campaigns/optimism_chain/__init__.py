"""Campaigns on an OP chain under a simulated driver: pending equals sealed, and kills."""
