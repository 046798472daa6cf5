"""Texts of settings: durations and addresses."""

from foreseal.server.settings.durations import format_duration, parse_duration
from foreseal.server.sockets.address import parse_address


def run(data: bytes) -> None:
    """Check that accepted text survives a round trip, and that rejected text raises a ValueError that names it."""
    text = data.decode("utf-8", "replace")
    try:
        ms = parse_duration(text)
    except ValueError as error:
        assert repr(text) in str(error)
    else:
        assert ms >= 0
        assert parse_duration(format_duration(ms)) == ms
    try:
        host, port = parse_address(text)
    except ValueError as error:
        assert repr(text) in str(error)
    else:
        assert host
        assert 0 <= port <= 65535
        assert parse_address(f"[{host}]:{port}") == (host, port)
