"""Names of what a deployment may contain."""

WORKERS = "workers"
REPLICA = "replica"
QUORUM = "quorum"
WATCHER = "watcher"
RESTART = "restart"

KINDS = {
    WORKERS: "the node runs with two workers",
    REPLICA: "a replica follows the node",
    QUORUM: "the node leads a cluster: two standbys, and the journal on three members of etcd",
    WATCHER: "a merchant service watches the chain and captures a payment after each attack",
    RESTART: "the node is stopped by SIGTERM in the middle of a second attack, and started again on its data directory",
}


def parse_kinds(text: str) -> tuple[str, ...]:
    """Return the names in a list separated by commas. Raises ValueError for an unknown one."""
    names = tuple(name for name in text.split(",") if name)
    for name in names:
        if name not in KINDS:
            raise ValueError(f"{name!r} is none of {', '.join(KINDS)}")
    return names
