"""Checked reading of JSON and texts of another machine."""

import pytest

from foreseal.top.fields import Fields, number, plain, quantity


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("node-1 \u00e9\u4e2d", "node-1 \u00e9\u4e2d"),
        ("\x1b[2J\x1b]0;title\x07", "?[2J?]0;title?"),
        ("a\r\nb\u202ec\x9b", "a??b?c?"),
        ("[bold]x[/bold]", "[bold]x[/bold]"),
        (None, "-"),
        (5, "-"),
        ("a" * 100, "a" * 79 + "~"),
    ],
)
def test_text_has_no_characters_that_control_the_terminal(value: object, shown: str) -> None:
    assert plain(value) == shown
    assert plain(value).isprintable()


@pytest.mark.parametrize(
    ("value", "expected"),
    [("0x10", 16), (7, 7), ("0x" + "f" * 64, 2**256 - 1)]
    + [(wrong, None) for wrong in ("0x" + "f" * 65, "16", "0x", "0xg", -1, True, None, 1.5, 2**256, [], {})],
)
def test_quantity_is_a_bounded_integer(value: object, expected: int | None) -> None:
    assert quantity(value) == expected


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), "1", True, None, 10**400])
def test_number_is_finite(wrong: object) -> None:
    assert number(wrong) is None
    assert number(1) == 1.0


def test_fields_of_a_wrong_type_are_absent() -> None:
    for value in (None, [], "x", 5):
        fields = Fields(value)
        assert not fields
        assert (fields.text("a"), fields.quantity("a"), fields.flag("a")) == ("-", None, None)
        assert (fields.child("a").items("b", 5), fields.children("c", 5)) == ([], {})


def test_lists_and_objects_are_bounded_and_their_names_are_safe() -> None:
    fields = Fields({"list": [{"n": 1}] * 9, "object": {f"\x1b{name}": {} for name in range(9)}})
    assert len(fields.items("list", 4)) == 4
    assert list(fields.children("object", 2)) == ["?0", "?1"]
