"""Resource of the exported signals: service, version and process."""

import os

from opentelemetry.sdk.resources import Resource

from foreseal._core import build_version


def service_resource(name: str, process: str | None) -> Resource:
    """Return the resource of a process; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence."""
    own: dict[str, str | int] = {
        "service.name": name,
        "service.version": build_version(),
        "process.pid": os.getpid(),
    }
    if process is not None:
        own["foreseal.process"] = process
    named = Resource.create()
    # Without the variables, the SDK names the service itself: unknown_service.
    is_named = not str(named.attributes.get("service.name", "unknown_service")).startswith("unknown_service")
    others = {key: value for key, value in named.attributes.items() if is_named or key != "service.name"}
    return Resource(own).merge(Resource(others))
