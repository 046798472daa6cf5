"""A data directory whose files tests damage."""
