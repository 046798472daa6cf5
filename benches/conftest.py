"""Pytest collects only the pytest-benchmark suites here."""

# A separate project, which `python -m benches.testing_suite` runs.
collect_ignore = ["testing_suite"]
