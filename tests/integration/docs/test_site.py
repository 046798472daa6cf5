"""The site builds without a warning, and its pages load nothing from another host."""

import re
import subprocess
import sys
from pathlib import Path

from repository import ROOT

# Files that a browser loads by itself; links are not loaded.
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|link(?![^>]*rel="(?:canonical|next|prev)"))[^>]*(?:src|href)="([^"]+)"""
)


def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) >= len(list((ROOT / "docs").rglob("*.md")))
    loaded = {target for page in pages for target in LOADED.findall(page.read_text())}
    assert any("mermaid" in target for target in loaded)
    assert [target for target in loaded if re.match(r"(?:https?:)?//", target)] == []
    styles = "".join(style.read_text() for style in tmp_path.rglob("*.css"))
    assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]*", styles) == []
