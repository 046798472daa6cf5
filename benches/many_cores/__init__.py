"""Reads, sends, step time and lag of a node with more and more workers, on pinned cores."""
