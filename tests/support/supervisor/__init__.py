"""The processes of a node, with doubles of the core."""
