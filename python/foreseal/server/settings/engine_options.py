"""Options of a node under a driver, and the rules of their combinations."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foreseal.server.settings.cluster_options import ClusterOptions
from foreseal.server.settings.setting import SettingsError
from foreseal.server.sockets.address import join_address


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Options of a driver. Raises `SettingsError` for half of a pair, or flashblocks without a driver."""

    listen: tuple[str, int] | None = None
    """Host and port of the listener for a driver; None on a node that builds its blocks itself."""
    jwt: Path | None = None
    """File with the secret of the driver's tokens, 32 bytes in hex."""
    flashblocks_ws: tuple[str, int] | None = None
    """Host and port of the listener of flashblocks; None if they are not published."""

    def __post_init__(self) -> None:
        if (self.listen is None) != (self.jwt is None):
            raise SettingsError("engine and engine_jwt belong together", "engine.listen", "engine.jwt")
        if self.flashblocks_ws is not None and self.listen is None:
            raise SettingsError(
                "flashblocks_ws needs engine: the messages name the payloads of a driver",
                "engine.flashblocks_ws",
                "engine.listen",
            )

    def check_node(self, cluster: ClusterOptions, *, development: bool, produce: bool) -> None:
        """Check the options as those of a node. Raises `SettingsError` for a conflict."""
        if self.listen is None:
            return
        if development:
            raise SettingsError("a development chain has no driver: its methods seal blocks", "engine.listen")
        if not produce:
            raise SettingsError(
                "a driver lets the node build blocks, which needs produce", "engine.listen", "node.produce"
            )
        if cluster.journal is not None:
            raise SettingsError(
                "engine and journal exclude each other: a driver calls one node, and would not follow a takeover",
                "engine.listen",
                "cluster.journal",
            )
        if cluster.follow:
            raise SettingsError(
                "engine and follow exclude each other: a replica follows the node of the driver",
                "engine.listen",
                "cluster.follow",
            )

    def for_core(self) -> dict[str, Any]:
        """Return the options as the core expects them; nothing without a driver."""
        if self.listen is None:
            return {}
        flashblocks = {} if self.flashblocks_ws is None else {"flashblocks_ws": join_address(self.flashblocks_ws)}
        return {"engine": {"listen": join_address(self.listen), "jwt": str(self.jwt), **flashblocks}}
