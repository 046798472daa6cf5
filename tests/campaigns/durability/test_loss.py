"""A node whose journal lost visible data does not start."""

from pathlib import Path

import pytest

from durability.campaign import PRODUCTION
from live import LiveNode, wait_for
from live.process import foreseal_command
from traffic.clients import Clients, Deployed
from traffic.record import Record


def test_journal_without_its_second_half_is_rejected(tmp_path: Path) -> None:
    command = [foreseal_command(), "dev", "--port", "0", *PRODUCTION, "--datadir", str(tmp_path)]
    record = Record()
    node = LiveNode(command)
    clients = Clients(node.url, Deployed(node.rpc).board, record, seed=3)
    wait_for(lambda: len(record.steps) > 20 and len(record.receipt_positions) > 20, 30, "record worth comparing")
    clients.expect_the_end()
    node.kill()
    clients.join()
    assert record.faults == []

    (segment,) = (tmp_path / "journal").iterdir()
    written = segment.read_bytes().rstrip(b"\0")
    with segment.open("r+b") as file:
        # This simulates a disk that never wrote the data.
        file.seek(len(written) // 2)
        file.write(bytes(len(written) - len(written) // 2))

    # The recorded end of the journal proves the loss: the node never serves data that contradicts earlier reads.
    with pytest.raises(
        RuntimeError, match=r"(?s)exit code 1:.*the journal has lost .* what was visible: [0-9]+ appends"
    ):
        LiveNode(command)
