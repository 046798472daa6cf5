"""A process that tries flips, so that a crash affects only one flip."""

import sys
from pathlib import Path

import orjson

from flips.kind import Flip, expected
from flips.kinds import KINDS


def main() -> None:
    """Read one flip per line, and write its outcome."""
    datadir = Path(sys.argv[1])
    known = expected(datadir)
    for line in sys.stdin.buffer:
        given = orjson.loads(line)
        kind, flip = KINDS[given.pop("kind")], Flip(**given)
        result = kind.run(datadir, flip, known)
        sys.stdout.buffer.write(orjson.dumps({"outcome": result.outcome, "detail": result.detail}) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
