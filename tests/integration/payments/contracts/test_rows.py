"""rows.toml lists the rules of payments.md row by row: each row names existing tests, and every rule has a row."""

import os
import re
import tomllib
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

import pytest

from foreseal.payments import contracts
from foreseal.payments.contracts import load
from payments.listed_tests import exists

SOURCES = Path(contracts.__file__).parent / "sources"
# Contracts of the document's sections, and the folders of their sources.
CONTRACTS = {"token": ["PaymentToken"], "merchant": ["Checkout", "Payouts", "BatchCapture"]}
ROWS = [
    (section, row)
    for section, rows in tomllib.loads(Path(__file__).with_name("rows.toml").read_text()).items()
    for row in rows
]
QUOTED = re.compile(r"`([^`]+)`")


def bare(name: str) -> str:
    """Return a name without its arguments, or a revert reason unchanged."""
    return name.partition("(")[0] if re.match(r"\w+\(", name) else name


def named(sections: tuple[str, ...] = ("token", "checkout", "payouts", "batches")) -> set[str]:
    """Return the names in backticks in the rows of sections, and the reverts of rows that define an order."""
    rows = [row for section, row in ROWS if section in sections]
    return {bare(name) for row in rows for name in [*QUOTED.findall(row.get("row", "")), *row.get("order", ())]}


def test_each_row_names_existing_tests() -> None:
    assert len(ROWS) > 80
    for _, row in ROWS:
        assert set(row) in ({"row", "tests"}, {"order", "tests"}), row
        assert row["tests"], row
        for test in row["tests"]:
            assert exists(test), f"there is no {test}"


@pytest.mark.parametrize("folder", CONTRACTS)
def test_every_contract_name_has_a_row(folder: str) -> None:
    """Functions, events and errors of the ABI, and the revert strings of the sources."""
    sections = ("token",) if folder == "token" else ("checkout", "payouts", "batches")
    expected = {entry["name"] for contract in CONTRACTS[folder] for entry in load(contract).abi if "name" in entry}
    texts = "".join(path.read_text() for path in (SOURCES / folder).glob("*.sol"))
    expected |= set(re.findall(r'"([A-Z]\w+: [^"\n]+)"', texts))
    assert len(expected) > 20
    assert sorted(expected - named(sections)) == []


@pytest.fixture(scope="module")
def document() -> str:
    """Return the document's sections on the contracts; skip the test if it is absent."""
    path = Path(os.environ.get("FORESEAL_SHARED", "../shared")) / "payments.md"
    if not path.exists():
        pytest.skip(f"{path} is not here: set FORESEAL_SHARED to the folder that holds payments.md")
    match = re.search(r"^## 1\. .*?(?=^## 3\. )", path.read_text(), re.M | re.S)
    assert match is not None
    return re.sub(r"\s+", " ", match.group())


def test_every_documented_name_has_a_row(document: str) -> None:
    """Covers every name in backticks: functions, selectors, hashes, events, errors, reverts."""
    # Argument lists of overloads, which are identified by their selectors.
    names = {bare(name) for name in QUOTED.findall(document) if not name.startswith("(")}
    assert len(names) > 70
    listed = named()
    # `update*` stands for each such function, "'s' value" for the end of a revert.
    patterns = {name: (name, f"* {name}") for name in sorted(names)}
    missing = [
        name
        for name, known in patterns.items()
        if not any(fnmatchcase(other, one) for other in listed for one in known)
    ]
    assert missing == []


def test_each_pair_of_ordered_checks_has_a_row(document: str) -> None:
    """Arrows separate the steps, and each step begins with its revert reason."""
    match = re.search(r"the revert string that wins: (.*?) -> mark used", document)
    assert match is not None
    order = [QUOTED.findall(step)[0] for step in match[1].split(" -> ")]
    assert len(order) == 7
    pairs = {tuple(row["order"]) for _, row in ROWS if "order" in row}
    assert [pair for pair in pairwise(order) if pair not in pairs] == []
