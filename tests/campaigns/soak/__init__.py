"""A node under a light mixed load for an hour: its memory, descriptors and threads."""
