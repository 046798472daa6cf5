"""The view on a terminal: draws frames and obeys keys until it is quit."""

import time
from dataclasses import replace

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.text import Text

from foreseal.top.frame import FrameModel, FrameOptions, draw_frame
from foreseal.top.keyboard import open_keyboard
from foreseal.top.sampling import ModelBuilder, SamplingThread

_FRAME_SECONDS = 0.25
"""Time between frames: the countdown moves between readings."""
_QUIT = frozenset("qQ\x04")


class TopScreen:
    """The view of one terminal."""

    def __init__(self, builder: ModelBuilder, interval: float, console: Console) -> None:
        """`interval` is the time between readings in seconds."""
        self._thread = SamplingThread(builder, interval)
        self._console = console
        self._options = FrameOptions(0, None)
        self._model: FrameModel | None = None

    def run(self) -> None:
        """Show frames until `q` is pressed. Raises KeyboardInterrupt."""
        self._thread.start()
        try:
            with (
                open_keyboard() as keyboard,
                Live(self, console=self._console, screen=True, auto_refresh=False) as live,
            ):
                while True:
                    keys = keyboard.read(_FRAME_SECONDS)
                    if _QUIT.intersection(keys):
                        return
                    self._press(keys)
                    if not self._options.is_paused:
                        self._model = self._thread.model()
                    live.refresh()
        finally:
            self._thread.stop()

    def _press(self, keys: str) -> None:
        for key in keys.lower():
            if key == "p":
                self._options = replace(self._options, is_paused=not self._options.is_paused)
            elif key == "s":
                self._options = replace(self._options, by_time=not self._options.by_time)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._model is None:
            yield Text("connecting; q quits")
            return
        size = options.size
        frame = replace(self._options, width=size.width, height=size.height, ascii_only=options.ascii_only)
        yield Group(*draw_frame(self._model, frame, time.time()))


def print_frame(model: FrameModel, console: Console) -> None:
    """Print one frame with all of its lines."""
    options = FrameOptions(console.width, None, ascii_only=console.options.ascii_only)
    for line in draw_frame(model, options, time.time()):
        console.print(line, soft_wrap=True)
