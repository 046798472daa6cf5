"""Completion in shells: the scripts, and the candidates that they receive."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FORESEAL = Path(sys.executable).with_name("foreseal")
SHELLS = ["bash", "zsh", "fish"]


def script(shell: str) -> str:
    done = subprocess.run([FORESEAL, "completion", shell], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


def candidates(shell: str, *words: str) -> str:
    """Return the answer to the request that the script of `shell` makes for these words."""
    environment = {
        **os.environ,
        "_FORESEAL_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": words[-1] if shell == "fish" else str(len(words) - 1),
    }
    done = subprocess.run([FORESEAL], env=environment, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_script_requests_candidates_from_the_command(shell: str) -> None:
    text = script(shell)
    assert f"_FORESEAL_COMPLETE={shell}_complete" in text
    if path := shutil.which(shell):
        subprocess.run([path, "-n", "/dev/stdin"], input=text, text=True, check=True, timeout=60)


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_and_options_are_completed(shell: str) -> None:
    assert "dev" in candidates(shell, "foreseal", "de")
    assert "--max-batch" in candidates(shell, "foreseal", "dev", "--max-b")


def test_bash_completes_with_the_script() -> None:
    lines = [
        script("bash"),
        f"PATH={FORESEAL.parent}:$PATH COMP_WORDS=(foreseal dev --autom) COMP_CWORD=2",
        "_foreseal_completion foreseal",
        'echo "${COMPREPLY[@]}"',
    ]
    done = subprocess.run(["bash"], input="\n".join(lines), capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["--automine"]
