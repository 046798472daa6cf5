"""Fuzzing of every decoder: campaigns over the Rust targets of `fuzz/`, and the targets of the Python side."""
