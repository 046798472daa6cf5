"""Traces and metrics by OTLP: configuration, sampling and exporters of every program. Needs the extra `otlp`."""
