"""The command `foreseal`."""
