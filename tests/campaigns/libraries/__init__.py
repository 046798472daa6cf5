"""Stock libraries at each endpoint of a node, with anvil as the control: tests/README.md describes the campaign."""
