"""Random faults of a whole cluster under load, and a checker of everything that its processes showed."""
