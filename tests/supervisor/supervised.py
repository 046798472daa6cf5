"""Runs a supervisor whose processes have doubles of the core: `supervised.py DATADIR WORKERS FRONT [CERT KEY]`."""

import logging
import sys
from pathlib import Path

from foreseal.errors import NodeError
from foreseal.server.settings import Listen, Settings
from foreseal.supervisor.supervisor import supervise

HERE = Path(__file__).parent
COMMAND = (sys.executable, str(HERE / "member.py"))


def main() -> int:
    """As `foreseal run --workers` does it."""
    logging.basicConfig(level=logging.INFO)
    folder, workers, front = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    cert, key = (Path(sys.argv[4]), Path(sys.argv[5])) if len(sys.argv) > 4 else (None, None)
    try:
        return supervise(
            Settings(folder, listen=Listen(port=0, workers=workers, front=front, tls_cert=cert, tls_key=key)),
            lambda url: print(url, flush=True),
            lambda url: print(f"administrators: {url}", flush=True),
            COMMAND,
        )
    except NodeError as error:
        print(f"foreseal: {error}", file=sys.stderr)
        return 2 if error.wrong_use else 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
