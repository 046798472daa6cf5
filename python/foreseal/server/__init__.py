"""HTTP server of a node. `foreseal.server:app` is the ASGI application for granian or uvicorn."""

from foreseal.server.app import App
from foreseal.server.settings import DevChain, Settings, SettingsError

app = App()

__all__ = ["App", "DevChain", "Settings", "SettingsError", "app"]
