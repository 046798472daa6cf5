"""A small double of `foreseal run` in a cluster, which elects and appends as designed, for tests of the harness."""
