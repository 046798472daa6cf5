"""What a user gets: the wheel in an environment of its own, without Rust, and the source distribution."""
