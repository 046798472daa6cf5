"""Traces and metrics of a node process by OTLP, off unless an endpoint is configured. Needs the extra `otlp`."""
