"""The user's packages: the wheel in a separate environment, without Rust, and the source distribution."""
