"""Names of the origins of web pages, as browsers send them and as settings have them."""

import re

_NAME = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>[a-z0-9._~%!$&'()*+,;=-]*|\[[0-9a-f:.]+\])(?P<port>:[0-9]{1,5})?"
)
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
# Schemes with a host only; others, such as `file`, may have none.
_WITH_HOST = frozenset(_DEFAULT_PORTS)


def normalize_origin(text: str) -> str | None:
    """Return an origin as browsers send it: `null`, or SCHEME://HOST[:PORT] in lower case without the default port.

    None if `text` is neither.
    """
    text = text.strip().lower()
    if text == "null":
        return text
    match = _NAME.fullmatch(text)
    if match is None or (not match["host"] and (match["scheme"] in _WITH_HOST or match["port"])):
        return None
    if match["port"] is not None and _DEFAULT_PORTS.get(match["scheme"]) == match["port"]:
        return text.removesuffix(match["port"])
    return text
