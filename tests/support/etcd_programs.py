"""etcd for tests: the program in $FORESEAL_ETCD, or `etcd` on the PATH."""

import os

import pytest

from foreseal.cluster.etcd import find_etcd

# Debian installs it here; the PATH of a service may lack the folder.
_DEBIAN = "/usr/bin/etcd"


def etcd_program() -> str:
    """Return the etcd program. Skips the test if there is none."""
    program = find_etcd(os.environ.get("FORESEAL_ETCD")) or find_etcd(_DEBIAN)
    if program is None:
        pytest.skip("etcd is not installed")
    return program
