"""Traces and metrics by OTLP, off unless an endpoint is configured. Needs the extra `otlp`."""
