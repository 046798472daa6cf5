"""A node of several processes, as its clients see it."""
