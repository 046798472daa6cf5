"""Entry point of a launched process: `python -m foreseal.cluster.launch PARENT PROGRAM [ARGUMENT]...`.

It becomes PROGRAM, which the kernel kills when the process PARENT ends. The parent-death signal survives `exec`.
"""

import os
import sys

from foreseal.supervisor.process import end_with_parent


def main(arguments: list[str]) -> None:
    """Replace this process by the program in `arguments[1:]`; exit with 1 if process `arguments[0]` has ended."""
    end_with_parent()
    if os.getppid() != int(arguments[0]):
        sys.exit(1)
    try:
        os.execvp(arguments[1], arguments[1:])  # noqa: S606 - the caller names the program
    except OSError as error:
        sys.exit(f"{arguments[1]}: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
