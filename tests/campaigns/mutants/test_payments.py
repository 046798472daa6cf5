"""The list of mutants matches the sources; `make mutants` verifies that each is caught."""

from mutants.payments import load
from payments.listed_tests import exists


def test_every_mutant_applies_and_names_existing_tests() -> None:
    mutants = load()
    assert len({mutant.name for mutant in mutants}) == len(mutants) > 25
    missing = [test for mutant in mutants for test in mutant.tests if not exists(test)]
    assert missing == []
