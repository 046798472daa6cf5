"""Supervisor of a node with several processes: starts, monitors and stops them. See docs/processes.md."""
