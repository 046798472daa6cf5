"""Short forms of the measurements of capacity: many cores, big state and sustained load."""
