"""Comments of JavaScript, TypeScript, Solidity and CSS, with the tags of JSDoc and NatSpec."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from language.sources import Line

_QUOTED = r"""(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
_BLOCK = r"/\*.*?(?:\*/|\Z)"
_SOLIDITY = re.compile(rf"(?P<comment>//[^\n]*|{_BLOCK})|{_QUOTED}", re.DOTALL)
_CSS = re.compile(rf"(?P<comment>{_BLOCK})|{_QUOTED}|url\([^)]*\)", re.DOTALL)
_SCRIPT = re.compile(
    rf"""(?P<comment>//[^\n]*|{_BLOCK})|{_QUOTED}
    |(?P<expression>/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/\w*)
    |(?P<word>[\w$]+)|(?P<mark>\S)""",
    re.DOTALL | re.VERBOSE,
)
# Text of a template literal, to its end or to the next value.
_TEMPLATE = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*(?P<end>`|\$\{|\Z)", re.DOTALL)

# A slash behind one of these words begins a regular expression; behind another word or a value it divides.
_OPERATORS = {"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "yield", "await"}

_MARKER = re.compile(r"^\s*(?:///?|/\*\*?|\*(?!/))?\s?")
_TAG = re.compile(r"(?:^|(?<=\s))(@[a-z]+(?::[\w-]+)?)(?=\s|$)")
# A type has braces of its own, up to three deep.
_TYPE = re.compile(r"(@[a-z]+\s+)\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}")
_NAMING = {"@param", "@property", "@typedef", "@callback", "@template", "@inheritdoc"}
_NAME = re.compile(r"^(?:\[[^\]]*\]|[\w.$]+)\s*(?:- )?")


class _Comment(NamedTuple):
    start: int
    end: int


def script_prose(source: str) -> Iterator[Line]:
    """Yield the lines of the comments of JavaScript or TypeScript."""
    return _lines(source, _script_comments(source))


def solidity_prose(source: str) -> Iterator[Line]:
    """Yield the lines of the comments of Solidity."""
    return _lines(source, _comments(_SOLIDITY, source))


def css_prose(source: str) -> Iterator[Line]:
    """Yield the lines of the comments of a style sheet."""
    return _lines(source, _comments(_CSS, source))


def _comments(tokens: re.Pattern[str], source: str) -> Iterator[_Comment]:
    return (_Comment(*match.span()) for match in tokens.finditer(source) if match["comment"])


def _script_comments(source: str) -> Iterator[_Comment]:
    """Yield the comments outside strings, regular expressions and the text of template literals."""
    position, is_behind_value = 0, False
    # Braces that are open in each value of a template literal, the innermost value last.
    values: list[int] = []
    while match := _SCRIPT.search(source, position):
        if match["expression"] and is_behind_value:
            position, is_behind_value = match.start() + 1, False
            continue
        position, mark = match.end(), match["mark"]
        if match["comment"]:
            yield _Comment(*match.span())
            continue
        is_behind_value = mark in {")", "]", "}"} if mark else match["word"] not in _OPERATORS
        ends_value = mark == "}" and values and not values[-1]
        if mark in {"{", "}"} and values and not ends_value:
            values[-1] += 1 if mark == "{" else -1
        elif mark == "`" or ends_value:
            if ends_value:
                values.pop()
            text = _TEMPLATE.match(source, position)
            assert text is not None
            position, is_behind_value = text.end(), text["end"] != "${"
            if not is_behind_value:
                values.append(0)


def _lines(source: str, comments: Iterator[_Comment]) -> Iterator[Line]:
    """Yield the lines of comments without markers; the description behind a tag counts as a first line."""
    last, is_first = -1, True
    for start, end in comments:
        number = source.count("\n", 0, start) + 1
        stands_alone = not source[source.rfind("\n", 0, start) + 1 : start].strip()
        is_block = source.startswith("/*", start)
        if is_block or not stands_alone or last != number - 1:
            is_first = True
        behind = source[end:].split("\n", 1)[0]
        has_code = not stands_alone or behind.strip() != ""
        text = _TYPE.sub(_without_type, source[start:end].removesuffix("*/" if is_block else ""))
        # A tag whose type ends on a later line: its description follows the type.
        pending = ""
        for offset, line in enumerate(text.split("\n")):
            own, *tags = _TAG.split(_MARKER.sub("", line))
            if own.strip() or not tags:
                yield Line(number + offset, _description(pending, own), is_first or pending != "", has_code)
                if own.strip():
                    is_first, pending = False, ""
            for tag, description in zip(tags[::2], tags[1::2], strict=True):
                yield Line(number + offset, _description(tag, description), True, has_code)
                is_first, pending = False, "" if description.strip() else tag
        last = -1 if is_block or not stands_alone else number


def _without_type(match: re.Match[str]) -> str:
    return match[1] + "\n" * match[0].count("\n", len(match[1]))


def _description(tag: str, text: str) -> str:
    """Return the text behind a tag with a capital letter, as by custom it may begin without one; "" for no tag."""
    if not tag:
        return text.strip()
    text = _NAME.sub("", text.strip()) if tag in _NAMING else text.strip()
    return text[:1].upper() + text[1:]
