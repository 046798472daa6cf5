"""The option that avoids a port in use."""

import contextlib
from collections.abc import Iterator

from foreseal.server.sockets.address import AddressError, AddressInUseError


@contextlib.contextmanager
def port_hint(port: int) -> Iterator[None]:
    """Name the option --port in the error of an endpoint whose port is in use."""
    try:
        yield
    except AddressInUseError as error:
        if error.port != port:
            raise
        raise AddressError(f"{error}: choose another port with --port") from None
