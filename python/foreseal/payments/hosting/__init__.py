"""Several merchants in one process: each has its own service, below its own path."""
