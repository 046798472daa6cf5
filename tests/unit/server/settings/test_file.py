"""TOML files of settings: valid input, and the errors of invalid files."""

from pathlib import Path

import pytest

from foreseal.server.settings import SettingsError
from foreseal.server.settings.file import SettingsFile
from foreseal.server.settings.origin import ValueOrigin
from foreseal.server.settings.setting import Command

GOOD = """
# A chain.
[node]
datadir = "/d"
"step" = "100ms" # quicker

[limits]
batch = 1_000
call_time = '1m'
[access]
public = true
admin = "[::1]:8546"
hosts = [
  "A.example", # one
  "b.example",
]
"""


def wrong(tmp_path: Path, text: str, command: Command | None = "run") -> list[str]:
    """Return the errors of a file, without its name."""
    path = tmp_path / "f.toml"
    path.write_text(text)
    return [problem.replace(str(path), "f.toml") for problem in SettingsFile(path, command).problems]


def refused(tmp_path: Path, content: bytes) -> str:
    """Return the error of content that is not TOML."""
    path = tmp_path / "f.toml"
    path.write_bytes(content)
    with pytest.raises(SettingsError) as told:
        SettingsFile(path, "run")
    return str(told.value).replace(str(path), "f.toml")


def test_values_come_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "f.toml"
    path.write_text(GOOD)
    read = SettingsFile(path, "run")
    assert read.problems == []
    assert {key: (each.value, each.origin) for key, each in read.values.items()} == {
        "node.datadir": (Path("/d"), ValueOrigin("file", str(path), 4)),
        "node.step": (100, ValueOrigin("file", str(path), 5)),
        "limits.batch": (1000, ValueOrigin("file", str(path), 8)),
        "limits.call_time": (60_000, ValueOrigin("file", str(path), 9)),
        "access.public": (True, ValueOrigin("file", str(path), 11)),
        "access.admin": (("::1", 8546), ValueOrigin("file", str(path), 12)),
        "access.hosts": ({"a.example", "b.example"}, ValueOrigin("file", str(path), 13)),
    }


def test_line_is_found_for_every_spelling_of_a_key(tmp_path: Path) -> None:
    path = tmp_path / "f.toml"
    path.write_text('limits.batch = 1\n[dev]\nmnemonic = """\naccounts = 3\n"""\n[ node ]\nstep="1s"\n')
    read = SettingsFile(path, None)
    assert {key: each.origin.line for key, each in read.values.items()} == {
        "limits.batch": 1,
        "dev.mnemonic": 3,
        "node.step": 7,
    }
    path.write_text("limits = { batch = 1, calls = 2 }\n")
    assert {key: each.origin.line for key, each in SettingsFile(path, None).values.items()} == {
        "limits.batch": None,
        "limits.calls": None,
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[limits]\nbodi = 1", "f.toml:2: unknown setting limits.bodi: did you mean limits.body?"),
        ("[limits]\nmax_body = 1", "f.toml:2: unknown setting limits.max_body: did you mean limits.body?"),
        ("[store]\nstore-map = 1", "f.toml:2: unknown setting store.store-map: did you mean store.map?"),
        ("[server]\npublic = true", "f.toml:2: unknown setting server.public: did you mean access.public?"),
        ("[access]\nallowed_host = 'a'", "f.toml:2: unknown setting access.allowed_host: did you mean access.hosts?"),
        (
            "[node]\nqqqq = 1",
            "f.toml:2: unknown setting node.qqqq: `foreseal config template` shows all settings",
        ),
        ("[limit]\nbody = 1", "f.toml:1: unknown section [limit]: did you mean [limits]?"),
        (
            "[qqqq]\nbody = 1",
            "f.toml:1: unknown section [qqqq]: expected one of [node], [dev], [pool], [store], [cluster], ",
        ),
        ("datadir = 'x'", "f.toml:1: datadir must be in a section: did you mean node.datadir?"),
        ("limits = 5", "f.toml:1: limits must be a section: write [limits] above its settings"),
        ("[limits]\nbody = 0", "f.toml:2: limits.body: the body limit must be at least 1"),
        (
            "[limits]\nbody = 'x'",
            'f.toml:2: limits.body: expected a whole number, got "x"; allowed: a whole number of bytes',
        ),
        ("[limits]\nbody = true", "f.toml:2: limits.body: expected a whole number, got true; allowed: a whole number"),
        ("[limits]\nbody = 1.5", "f.toml:2: limits.body: expected a whole number, got 1.5; allowed: a whole number"),
        ("[limits]\nbody = 1979-05-27", 'f.toml:2: limits.body: expected a whole number, got "1979-05-27"; allowed: a'),
        (
            "[limits]\nbody.x = 1",
            'f.toml: limits.body: expected a whole number, got {"x":1}; allowed: a whole number of b',
        ),
        (
            "[limits]\ncall_time = 5",
            "f.toml:2: limits.call_time: expected a string in quotes, got 5; allowed: a whole number and its unit",
        ),
        (
            "[limits]\ncall_time = '5'",
            "f.toml:2: limits.call_time: '5' is not a duration: write a whole number and its unit",
        ),
        ("[access]\npublic = 'yes'", 'f.toml:2: access.public: expected true or false, got "yes"; allowed: true or'),
        ("[access]\nadmin = '8546'", "f.toml:2: access.admin: '8546' is not an address: write HOST:PORT"),
        ("[access]\nhosts = 'a'", 'f.toml:2: access.hosts: expected a list of strings, got "a"; allowed: a list'),
        ("[access]\nhosts = ['a', 1]", 'f.toml:2: access.hosts: expected a list of strings, got ["a",1]'),
        ("[node]\nfee_recipient = '0x1'", "f.toml:2: node.fee_recipient: '0x1' is not hex: write 0x and two digits"),
        ("[node]\nextra_data = 'ab'", "f.toml:2: node.extra_data: 'ab' is not hex: write 0x and two digits"),
        (
            "[dev]\naccounts = 3",
            "f.toml:2: dev.accounts is a setting of foreseal dev and the ASGI application, not of foreseal run",
        ),
    ],
)
def test_error_names_file_line_key_and_allowed_values(tmp_path: Path, text: str, words: str) -> None:
    (problem,) = wrong(tmp_path, text)
    assert problem.startswith(words)


def test_secret_is_not_shown_in_an_error(tmp_path: Path) -> None:
    assert wrong(tmp_path, "[dev]\nmnemonic = 12345", None) == ["f.toml:2: dev.mnemonic: expected text"]


def test_every_error_is_found(tmp_path: Path) -> None:
    assert len(wrong(tmp_path, "[limits]\nbody = 0\nbatch = 'x'\nnothing = 1\n[nowhere]\n[node]\nstep = 1\n")) == 5


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[limits]\nbody = 1\nbatch = 2\nbody = 3\n", "f.toml:4: duplicate limits.body, first defined in line 2"),
        (b"[limits]\nbody = 1\n[node]\n[limits]\n", "f.toml:4: duplicate limits, first defined in line 1"),
        (b"limits.body = 1\n[limits]\nbody = 1\n", "f.toml:3: duplicate limits.body, first defined in line 1"),
        (b"[limits]\nbody = \n", "f.toml:2: Invalid value"),
        (b"[limits\n", "f.toml:1: Expected"),
        (b"body = 1 2\n", "f.toml:1: Expected newline or end of document after a statement"),
        (b"\xff\xfe", "f.toml is not a settings file: it is not UTF-8"),
    ],
)
def test_invalid_toml_is_rejected_with_its_line(tmp_path: Path, content: bytes, words: str) -> None:
    assert refused(tmp_path, content).startswith(words)


def test_arrays_of_tables_and_multiline_strings_are_not_repeated_keys(tmp_path: Path) -> None:
    assert wrong(tmp_path, "[[node]]\nstep = '1s'\n[[node]]\nstep = '1s'\n") == [
        "f.toml: node must be a section: write [node] above its settings"
    ]


def test_missing_or_unreadable_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot read the settings in .*none.toml: No such file or directory"):
        SettingsFile(tmp_path / "none.toml", "run")
    with pytest.raises(SettingsError, match=r"cannot read the settings in .*: Is a directory"):
        SettingsFile(tmp_path, "run")
