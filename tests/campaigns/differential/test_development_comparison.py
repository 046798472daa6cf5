"""The short forms of the comparisons of development methods; `make differential` runs the long ones."""

import pytest

from differential.development_comparison import compare_development_with_anvil, compare_development_with_hardhat
from libraries.library import HARDHAT

OPERATIONS = 150
SEED = 11


def test_random_development_methods_have_equal_results_on_anvil() -> None:
    comparison = compare_development_with_anvil(SEED, OPERATIONS)
    assert not comparison.faults, "\n".join(map(str, comparison.faults))
    assert comparison.compared["operations"] >= OPERATIONS


def test_random_development_methods_have_equal_results_on_hardhat() -> None:
    # Its packages have 360 MB: the gate installs those that its other tests need.
    if not (HARDHAT[3] / "node_modules").exists():
        pytest.skip("hardhat is not installed: `make differential` or `make clients` installs it")
    comparison = compare_development_with_hardhat(SEED, OPERATIONS)
    assert not comparison.faults, "\n".join(map(str, comparison.faults))
    assert comparison.compared["operations"] >= OPERATIONS
