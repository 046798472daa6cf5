"""Cost of an OP chain under a driver: blocks that are executed, and steps compared with those of a plain chain."""
