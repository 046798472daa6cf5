"""The packages and the generated types of the TypeScript client, for tests."""

import fcntl
import subprocess

from merchant_client.generate import DOCUMENT, TYPESCRIPT, document_text
from npm import find_node, install

COMPILER = TYPESCRIPT / "node_modules" / "typescript" / "bin" / "tsc"
SECONDS = 100.0


def compile_types(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run TypeScript's compiler in the folder of the client, with current types. Skips the test without Node.js."""
    node = find_node()
    install(TYPESCRIPT)
    _generate()
    command = [node, str(COMPILER), *arguments]
    return subprocess.run(command, cwd=TYPESCRIPT, capture_output=True, text=True, timeout=SECONDS, check=False)


def _generate() -> None:
    """Write src/api.ts unless it is from the current document, package and packages; one process at a time."""
    stamp = TYPESCRIPT / "node_modules" / ".generated-from"
    with (TYPESCRIPT / "package.json").open() as exclusive:
        fcntl.flock(exclusive, fcntl.LOCK_EX)
        document = document_text()
        origin = document + exclusive.read() + (TYPESCRIPT / "package-lock.json").read_text()
        if (TYPESCRIPT / "src" / "api.ts").exists() and stamp.exists() and stamp.read_text() == origin:
            return
        DOCUMENT.write_text(document)
        npm = subprocess.run(
            ["npm", "run", "generate"], cwd=TYPESCRIPT, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert npm.returncode == 0, f"npm run generate failed:\n{npm.stdout}{npm.stderr}"
        stamp.write_text(origin)
