"""Measurements of a quorum journal, of replicas and of a standby. Run as `python -m benches.cluster.NAME`."""
