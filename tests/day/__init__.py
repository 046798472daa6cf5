"""A day in minutes: what a node that is used all day leaves behind in memory, files and descriptors."""
