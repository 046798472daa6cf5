"""Negotiation of the form of a demand by the header `Accept` (RFC 9110, 12.5.1)."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_HTML, _JSON = ("text", "html"), ("application", "json")
# Elements of a list; a comma or a semicolon in a quoted text separates nothing.
_ELEMENT = re.compile(r'(?:[^,"]|"(?:\\.|[^"\\])*"?)+')
_PARAMETER = re.compile(r'(?:[^;"]|"(?:\\.|[^"\\])*"?)+')
_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_RANGE = re.compile(rf"({_NAME})/({_NAME})")
_WEIGHT = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")
# A parameter that the page has too.
_CHARSET = ("charset=utf-8", 'charset="utf-8"')


class _MediaRange(NamedTuple):
    kind: str
    subtype: str
    weight: float

    def specificity(self, media: tuple[str, str]) -> int:
        """Return how specific the range is for a media type; 0 if it does not match."""
        if (self.kind, self.subtype) == media:
            return 3
        if (self.kind, self.subtype) == (media[0], "*"):
            return 2
        return int((self.kind, self.subtype) == ("*", "*"))


def prefers_html(accept: Sequence[str]) -> bool:
    """Return True if a client prefers HTML to JSON. `accept` are the values of all headers `Accept`.

    A client without a preference, such as one that accepts anything, gets JSON.
    """
    ranges = list(_ranges(",".join(accept)))
    return _quality(ranges, _HTML) > _quality(ranges, _JSON)


def _quality(ranges: Sequence[_MediaRange], media: tuple[str, str]) -> float:
    """Return the weight of the most specific range that matches a media type."""
    matching = [(each.specificity(media), each.weight) for each in ranges if each.specificity(media)]
    return max(matching, default=(0, 0.0))[1]


def _ranges(text: str) -> Iterator[_MediaRange]:
    """Yield the valid media ranges. Ranges with other parameters match neither the page nor the JSON."""
    for element in _ELEMENT.findall(text):
        name, *parameters = (each.strip().lower() for each in _PARAMETER.findall(element) or [""])
        match = _RANGE.fullmatch(name)
        weights = [each.removeprefix("q=") for each in parameters if each.startswith("q=")]
        others = [each for each in parameters if not each.startswith("q=") and each and each not in _CHARSET]
        if match is None or others or len(weights) > 1 or not all(map(_WEIGHT.fullmatch, weights)):
            continue
        yield _MediaRange(match[1], match[2], float(weights[0]) if weights else 1.0)
