"""Fuzzing of every decoder: campaigns over the Rust targets of `fuzz/`, and the Python targets."""
