"""Measurements of the explorer's pages: their size and first paint, a load of viewers, and a long chain."""
