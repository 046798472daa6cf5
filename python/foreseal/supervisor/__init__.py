"""A node of several processes: who starts them, watches them and ends them. See docs/processes.md."""
