"""`foreseal cluster`: commands for a node of several machines."""

import click

from foreseal.cli.cluster_dev import dev_command
from foreseal.cli.cluster_status import forget_command, status_command


@click.group("cluster")
def cluster_group() -> None:
    """Work with a cluster: a quorum journal on etcd, a leader, standbys and replicas."""


cluster_group.add_command(dev_command)
cluster_group.add_command(status_command)
cluster_group.add_command(forget_command)
