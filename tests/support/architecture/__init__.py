"""The graph of imports between the modules of each Rust crate and each Python package, and its cycles."""
