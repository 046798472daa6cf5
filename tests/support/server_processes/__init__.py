"""Programs that serve a double of the node, started by tests."""
