"""Folders of the repository that tests use, and the search path of processes that import test code."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
SUPPORT = TESTS / "support"
CAMPAIGNS = TESTS / "campaigns"
DOCS = ROOT / "docs"
PYTHONPATH = os.pathsep.join(map(str, (ROOT / "python", SUPPORT, CAMPAIGNS)))
"""Value of the variable of this name for a process that runs a module of these folders."""
