"""A day in minutes: growth of memory, files and descriptors of a node under constant use."""
