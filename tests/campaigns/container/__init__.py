"""The image of `deploy/container`, built and run on this machine."""
