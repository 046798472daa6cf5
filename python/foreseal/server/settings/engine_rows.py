"""Rows of the table of settings: the driver of a node."""

from foreseal.server.settings.kinds import FilePath, ListenerAddress, ValueKind
from foreseal.server.settings.setting import Command, Setting

_COMMANDS = frozenset[Command](("run", "app"))


def _engine(name: str, kind: ValueKind, help: str, *, base: str, more: str = "", unset: str = "") -> Setting:
    """Return a row; `base` is the base of the option and variable names."""
    return Setting(
        key=f"engine.{name}",
        name=base,
        kind=kind,
        help=help,
        more=more,
        unset=unset,
        path=f"engine.{name}",
        commands=_COMMANDS,
    )


ENGINE = (
    _engine(
        "listen",
        ListenerAddress(),
        "Address of the Engine API, where a driver (op-node) opens and seals the blocks.",
        base="engine",
        more="Needs `engine_jwt`. The slots, depths and gas limits of this node do not apply.",
        unset="the node builds its blocks itself",
    ),
    _engine(
        "jwt",
        FilePath(),
        "File with the secret of the driver's tokens: 32 bytes in hex.",
        base="engine_jwt",
        more="Created, for its owner alone, if it does not exist.",
        unset="none",
    ),
    _engine(
        "flashblocks_ws",
        ListenerAddress(),
        "Address of the flashblocks of the OP stack, for rollup-boost, op-conductor and websocket-proxy.",
        base="flashblocks_ws",
        more="Needs `engine`. WebSocket without access control, for at most 64 readers.",
        unset="flashblocks are not published",
    ),
)
