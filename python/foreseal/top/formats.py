"""Short texts of figures."""

_UNITS = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_ABSENT = "-"


def count(value: float | None) -> str:
    """Return a number with at most four digits and a unit: 12.3k."""
    if value is None:
        return _ABSENT
    unit = 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    if value >= 999.5:
        return f"{value:.3g}{_UNITS[unit]}"
    if unit == 0 and value == int(value):
        return f"{value:.0f}"
    return f"{value:.{0 if value >= 99.5 else 1}f}{_UNITS[unit]}"


def rate(value: float | None) -> str:
    """Return a number per second: 12.3k/s."""
    return _ABSENT if value is None else f"{count(value)}/s"


def size(value: float | None) -> str:
    """Return a number of bytes: 1.2 MiB."""
    if value is None:
        return _ABSENT
    unit = 0
    while value >= 1023.5 and unit < len(_BINARY) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.{0 if unit == 0 or value >= 99.5 else 1}f} {_BINARY[unit]}"


def integer(value: int | None) -> str:
    """Return an integer with separators; a very large one as a number with a unit."""
    return _ABSENT if value is None else f"{value:,}" if value < 10**15 else count(float(value))


def duration(seconds: float | None) -> str:
    """Return a duration with two significant parts: 340 us, 12 ms, 3.2 s, 5m07s, 3h12m, 4d03h."""
    if seconds is None:
        return _ABSENT
    seconds = max(seconds, 0.0)
    if seconds < 1:
        return _below_a_second(seconds)
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours}h{minutes:02}m"
    return f"{hours // 24:,}d{hours % 24:02}h"


def _below_a_second(seconds: float) -> str:
    if seconds >= 0.9995:
        return "1.0 s"
    if seconds >= 0.001:
        return f"{seconds * 1e3:.{0 if seconds >= 0.00995 else 1}f} ms"
    return f"{seconds * 1e6:.0f} us" if seconds else "0"


def share(value: float | None) -> str:
    """Return a share in percent: 41%."""
    return _ABSENT if value is None else f"{value * 100:.0f}%"


def gwei(wei: int | None) -> str:
    """Return a fee per gas in gwei: 0.34 gwei."""
    if wei is None:
        return _ABSENT
    value = wei / 1e9
    return f"{value:.3g} gwei" if value < 1000 else f"{count(value)} gwei"
