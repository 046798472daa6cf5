"""The pages in docs/ match the code."""

import importlib
import re
import subprocess
import sys

from foreseal._core import method_names
from repository import ROOT


def test_generated_documentation_is_up_to_date() -> None:
    ended = subprocess.run(
        [sys.executable, "docs/render.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_settings_page_has_a_generated_section() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text()
    assert page.count("| `") > 40
    assert "<!-- made by settings -->" in page


def test_methods_page_lists_every_method() -> None:
    page = (ROOT / "docs" / "reference" / "rpc.md").read_text()
    names = method_names()
    assert len(names) > 80
    assert [name for name in names if f"\n| `{name}` | " not in page] == []
    assert page.count("\n| `newHeads` | ") == 1


def test_every_import_of_an_example_exists() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    imports = [
        (page.name, module, name)
        for page in pages
        for module, names in re.findall(r"^from (foreseal[\w.]*) import ([\w, ]+)$", page.read_text(), re.MULTILINE)
        for name in names.split(", ")
    ]
    assert len(imports) > 30
    assert not [each for each in imports if not hasattr(importlib.import_module(each[1]), each[2])]


def test_every_test_named_on_a_page_exists() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile"))]
    paths = [path for page in pages for path in re.findall(r"tests/[\w/]+\.py", page.read_text())]
    assert len(paths) > 5
    assert not [path for path in paths if not (ROOT / path).exists()]


MAX_DECISION_FILES = 45
"""Maximum number of pages in the folder of decisions: one for each subsystem, an index, and room for new subsystems."""


def test_decisions_are_few_indexed_and_cited() -> None:
    folder = ROOT / "docs" / "design" / "decisions"
    pages = {path.name for path in folder.iterdir()}
    index = (folder / "README.md").read_text()
    assert len(pages) <= MAX_DECISION_FILES
    # The changelog is history: a citation there does not lead a reader from the subject to its page.
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [
        ROOT / name for name in listed.splitlines() if name.endswith((".md", ".rs", ".py")) and name != "CHANGELOG.md"
    ]
    cited = {
        name
        for file in files
        if file.parent != folder and file.exists()
        for name in re.findall(r"decisions/([\w-]+\.md)", file.read_text())
    }
    assert pages - cited == set()
    assert cited <= pages
    assert [name for name in sorted(pages - {"README.md"}) if f"({name})" not in index] == []
