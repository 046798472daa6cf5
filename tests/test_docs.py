"""The pages in docs/ have what the code has."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_what_is_made_from_the_code_is_up_to_date() -> None:
    ended = subprocess.run(
        [sys.executable, "docs/render.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_the_page_on_settings_has_a_part_that_is_made() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    assert page.count("| `") > 40
    assert "<!-- made by settings -->" in page
