"""A proxy that records requests and responses."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from forwarding_proxy import forwarded


@contextmanager
def recorded(url: str, file: Path | None) -> Iterator[str]:
    """Serve a proxy to `url` that appends each exchange to `file`; yield its URL, or `url` without a file."""
    if file is None:
        yield url
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    exclusive, began = threading.Lock(), time.monotonic()
    with file.open("w") as log:

        def record(request: bytes, response: bytes) -> bytes:
            at = round(time.monotonic() - began, 3)
            line = {"at": at, "request": json.loads(request), "response": json.loads(response)}
            with exclusive:
                log.write(json.dumps(line) + "\n")
                log.flush()
            return response

        with forwarded(url, record) as proxy:
            yield proxy
