"""Cost of an OP chain under a driver: execution of blocks, and steps compared with those of a plain chain."""
