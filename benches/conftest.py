"""What pytest finds here are the pytest-benchmark suites alone."""

# A project of its own, which `python -m benches.testing_suite` runs.
collect_ignore = ["testing_suite"]
