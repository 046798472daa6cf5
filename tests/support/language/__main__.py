"""Print each place in the files of the repository that breaks the rules; exit with 1 if there is one."""

import subprocess
import sys

from language.check import READERS, check, check_names, is_checked, kind_of
from repository import ROOT

# Tracked files, and new ones that are not ignored.
_LIST_FILES = ("git", "ls-files", "--cached", "--others", "--exclude-standard")


def main() -> int:
    """Check all files of the repository."""
    listed = subprocess.run(_LIST_FILES, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [path for path in listed.splitlines() if is_checked(path) and (ROOT / path).exists()]
    if not {kind_of(path) for path in paths} >= READERS.keys():
        sys.exit("no files to check: is this a clone of the repository?")
    files = {path: (ROOT / path).read_text() for path in paths}
    findings = [finding for path, source in files.items() for finding in check(path, source)]
    findings += check_names(files)
    for finding in findings:
        print(f"{finding.path}:{finding.line}: {finding.message}")
    print(f"language: {len(paths)} files, {len(findings)} findings")
    return bool(findings)


sys.exit(main())
