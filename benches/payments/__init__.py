"""Throughput of `foreseal pay serve`: payments a second and processor time, from order to delivered webhooks."""
