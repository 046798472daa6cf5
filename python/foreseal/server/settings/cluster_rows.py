"""Rows of the table of settings: other machines."""

from foreseal.etcd_version import OLDEST_ETCD, format_version
from foreseal.server.settings.kinds import FeedAddresses, FilePath, Flag, HostPort, TextKind, ValueKind
from foreseal.server.settings.setting import Command, Setting

_COMMANDS = frozenset[Command](("run", "app"))


def _cluster(
    name: str, kind: ValueKind, help: str, *, more: str = "", unset: str = "", base: str = "", option: str = ""
) -> Setting:
    """Return a row; `base` is the base of the option and variable names, if it is not `name`."""
    return Setting(
        key=f"cluster.{name}",
        name=base or name,
        kind=kind,
        help=help,
        more=more,
        unset=unset,
        path=f"cluster.{name}",
        commands=_COMMANDS,
        option=option,
    )


CLUSTER = (
    _cluster(
        "name",
        TextKind(metavar="NAME"),
        "Name of this node in the status and metrics of other machines.",
        unset="the name of the process",
        base="node_name",
        option="--name",
    ),
    _cluster(
        "journal",
        TextKind(metavar="URL"),
        "Quorum journal: etcd://HOST:PORT,HOST:PORT,HOST:PORT/PREFIX.",
        more="A step is visible only after a majority of the etcd members has it. All members name the same one.",
        unset="the journal is written on this machine only",
    ),
    _cluster("journal_ca", FilePath(), "CA of the etcd members; enables TLS to them.", unset="no TLS to etcd"),
    _cluster("journal_cert", FilePath(), "Client certificate for etcd.", unset="none"),
    _cluster("journal_key", FilePath(), "Key of the client certificate for etcd.", unset="none"),
    _cluster("journal_user", TextKind(metavar="NAME"), "User of etcd.", unset="no authentication"),
    _cluster("journal_password_file", FilePath(), "File with the password of the etcd user.", unset="none"),
    _cluster(
        "journal_force",
        Flag(),
        f"Accept an etcd that is older than {format_version(OLDEST_ETCD)} or has a single member.",
        more="For tests: such an etcd can lose acknowledged steps.",
    ),
    _cluster(
        "standby",
        Flag(),
        "Follow the leader, and take over if it fails.",
        more="Needs `journal`, and the sequencer key of the leader.",
    ),
    _cluster(
        "follow",
        FeedAddresses(),
        "Feeds of other nodes that this replica follows, in order: tls://HOST:PORT.",
        more="The replica has its own data directory; an empty one gets a snapshot. tcp:// is for loopback only.",
        unset="the node writes the chain",
    ),
    _cluster(
        "feed_listen",
        HostPort(),
        "Serve the feed to other machines at HOST:PORT.",
        more="Needs `feed_token_file`, or `feed_cert` and `feed_key` with `feed_ca`.",
        unset="other machines cannot follow this node",
    ),
    _cluster(
        "feed_advertise",
        HostPort(),
        "Address at which other machines reach the feed.",
        unset="the address of `feed_listen`",
    ),
    _cluster("feed_ca", FilePath(), "CA of the certificates of other nodes.", unset="none"),
    _cluster("feed_cert", FilePath(), "Certificate of this node for the feed.", unset="no TLS: loopback only"),
    _cluster("feed_key", FilePath(), "Key of that certificate.", unset="none"),
    _cluster(
        "feed_token_file",
        FilePath(),
        "File with the secret that all nodes of the cluster share, 16 to 1024 bytes.",
        unset="none",
    ),
)
"""Settings of a node that works with other machines."""
