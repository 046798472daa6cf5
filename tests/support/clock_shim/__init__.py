"""Wall clocks of processes under test that jump, without an effect on their monotonic clocks."""

import shutil
import struct
import subprocess
from pathlib import Path

_SOURCE = Path(__file__).with_name("clock_shim.c")


def build_shim(folder: Path) -> Path | None:
    """Compile the library to a folder and return its path; None without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "clock_shim.so"
    subprocess.run((compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(_SOURCE)), check=True)
    return library


def clock_environment(library: Path, file: Path) -> dict[str, str]:
    """Return the variables of a process whose wall clock `set_clock` moves by this file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(bytes(8))
    return {"LD_PRELOAD": str(library), "CLOCK_SHIM_FILE": str(file)}


def set_clock(file: Path, seconds: int) -> None:
    """Set the distance of the wall clock from the true time, also of a running process."""
    with file.open("r+b") as stored:
        stored.write(struct.pack("<q", seconds))
