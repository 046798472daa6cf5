"""Traces and metrics of the service: one trace per order, and spans of HTTP requests.

The modules make spans as data. Only `exporters` imports the packages of OpenTelemetry, and only if an endpoint is
configured.
"""
