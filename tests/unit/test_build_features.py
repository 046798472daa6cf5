"""The extension and the Rust tests use third-party crates with the same features, so that each is built once."""

import re
import subprocess
from collections import defaultdict

from repository import ROOT


def features(*selection: str) -> dict[str, set[str]]:
    """Return the features of each third-party crate in a selection of the workspace."""
    command = ["cargo", "tree", "--offline", "--prefix", "none", "--format", "{p}|{f}", *selection]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    by_crate: dict[str, set[str]] = defaultdict(set)
    for line in output.splitlines():
        crate, _, enabled = line.partition("|")
        name = re.sub(r" \(.*", "", crate)
        if not name.startswith("foreseal"):
            by_crate[name].update(enabled.replace(" (*)", "").split(","))
    return by_crate


def test_extension_and_tests_share_one_build_of_each_crate() -> None:
    extension = features("--package", "foreseal-py", "--edges", "normal,build")
    tests = features("--workspace", "--edges", "normal,build,dev")
    assert len(extension) > 100, sorted(extension)
    assert "revm" in {name.split()[0] for name in extension}
    differing = {name: sorted(tests[name] - enabled) for name, enabled in extension.items() if tests[name] != enabled}
    assert differing == {}, "add these features to the extension, as Cargo.toml describes"
