"""Supervisor of a node with several processes: starts, monitors and stops them. See docs/operate/processes.md.

Design: docs/design/decisions/workers.md.
"""
