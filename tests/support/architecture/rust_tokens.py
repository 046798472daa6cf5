"""Split Rust source into tokens, without comments, literals and items that only tests compile."""

import re

_TOKEN = re.compile(
    r"""
    (?P<skip>\s+|//[^\n]*)
    |(?P<comment>/\*)
    |(?P<raw>b?c?r(?P<hashes>\#*)".*?"(?P=hashes))
    |(?P<string>[bc]?"(?:\\.|[^"\\])*")
    |(?P<char>b?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\])')
    |(?P<lifetime>'\w+)
    |(?P<name>(?:r\#)?[^\W\d]\w*)
    |(?P<number>\d[\w]*)
    |(?P<symbol>::|->|=>|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def _end_of_comment(source: str, start: int) -> int:
    depth, position = 1, start + 2
    while depth:
        match = re.compile(r"/\*|\*/").search(source, position)
        if match is None:
            return len(source)
        depth += 1 if match.group() == "/*" else -1
        position = match.end()
    return position


def split(source: str) -> list[str]:
    """Return the tokens of a file; each literal becomes `""`."""
    tokens, position = [], 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        assert match is not None
        position = match.end()
        kind = match.lastgroup
        if kind == "comment":
            position = _end_of_comment(source, match.start())
        elif kind in ("name", "symbol"):
            tokens.append(match.group().removeprefix("r#"))
        elif kind != "skip":
            tokens.append('""')
    return tokens


def closing(tokens: list[str], start: int) -> int:
    """Return the index of the bracket that closes the one at `start`."""
    expected = []
    for index in range(start, len(tokens)):
        token = tokens[index]
        if token in _CLOSING:
            expected.append(_CLOSING[token])
        elif expected and token == expected[-1]:
            expected.pop()
            if not expected:
                return index
    raise ValueError("unbalanced brackets")


def end_of_item(tokens: list[str], start: int) -> int:
    """Return the index after the item that begins at `start`: after its `;`, its block, or its `,` in a list."""
    index = start
    while index < len(tokens):
        token = tokens[index]
        if token in (";", ","):
            return index + 1
        if token in ("}", ")", "]"):
            return index
        if token in _CLOSING:
            index = closing(tokens, index)
            if token == "{":
                return index + 1
        index += 1
    return index


def _only_for_tests(attribute: list[str]) -> bool:
    return attribute[:3] == ["cfg", "(", "test"] or attribute[:5] == ["cfg", "(", "all", "(", "test"]


def without_tests(tokens: list[str]) -> list[str]:
    """Return the tokens without items under `#[cfg(test)]`."""
    kept, index = [], 0
    while index < len(tokens):
        if tokens[index : index + 2] == ["#", "["]:
            end = closing(tokens, index + 1)
            if _only_for_tests(tokens[index + 2 : end]):
                index = end + 1
                while tokens[index : index + 2] == ["#", "["]:
                    index = closing(tokens, index + 1) + 1
                index = end_of_item(tokens, index)
                # A `use` ends with `;`, also behind its braces.
                if tokens[index : index + 1] == [";"]:
                    index += 1
                continue
        kept.append(tokens[index])
        index += 1
    return kept
