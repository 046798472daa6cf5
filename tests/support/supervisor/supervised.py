"""Runs a supervisor whose processes have doubles of the core: `supervised.py DATADIR WORKERS [CERT KEY]`.

The environment variable TIMES may contain `heartbeat_timeout`, `busy_timeout` and `drain_time` as JSON.
"""

import json
import logging
import os
import sys
from pathlib import Path

from foreseal.errors import NodeError
from foreseal.server.settings import ListenSettings, Settings
from foreseal.server.settings.model import DRAIN_TIME
from foreseal.supervisor.supervisor import supervise

HERE = Path(__file__).parent
COMMAND = (sys.executable, str(HERE / "member.py"))


def main() -> int:
    """Run like `foreseal run --workers`."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s:%(name)s:%(message)s %(reason)s", defaults={"reason": ""}))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    folder, workers = Path(sys.argv[1]), int(sys.argv[2])
    cert, key = (Path(sys.argv[3]), Path(sys.argv[4])) if len(sys.argv) > 3 else (None, None)
    times = json.loads(os.environ.get("TIMES", "{}"))
    drain_time = times.pop("drain_time", DRAIN_TIME)
    listen = ListenSettings(port=0, workers=workers, tls_cert=cert, tls_key=key, **times)
    try:
        return supervise(
            Settings(folder, drain_time=drain_time, listen=listen),
            lambda url: print(url, flush=True),
            lambda url: print(f"administrators: {url}", flush=True),
            command=COMMAND,
        )
    except NodeError as error:
        print(f"foreseal: {error}", file=sys.stderr)
        return 2 if error.is_usage_error else 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
