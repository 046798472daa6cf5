"""A development node with accelerated clocks, served like by `foreseal dev`: `python -m day.node DATADIR SPEED`."""

import sys
from pathlib import Path

from foreseal.server import App, interpreter
from foreseal.server.runner import serve
from foreseal.server.settings import DevChain, Settings


def main() -> None:
    """Serve on a free port until SIGTERM."""
    datadir, speed = sys.argv[1:]
    settings = Settings(Path(datadir), dev=DevChain(), development=True)
    interpreter.configure_interpreter(settings.log)
    app = App(settings, role={"speed": int(speed)})
    serve(app, "127.0.0.1", 0, lambda url: print(f"listening on {url}", flush=True))


if __name__ == "__main__":
    main()
