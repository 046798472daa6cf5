"""`earliest`, `finalized`, `safe` and `latest` over HTTP, on every method with a block parameter in rpc.discover."""

import re
from collections.abc import Iterator

import pytest
from eth_utils import to_checksum_address

from live import DEV_ACCOUNTS, LiveNode, Rpc, live_node, wait_for
from live.sending import Sender
from live.tag_queries import answers, tag_queries

TAGS = ("earliest", "finalized", "safe", "latest")
SAFE, FINALIZED = 2, 4
CONTRACT = "0x" + "c0" * 20
# NUMBER, PUSH 0, MSTORE; LOG0 of that word; RETURN of that word.
CODE = "0x4360005260206000a060206000f3"


@pytest.fixture
def node() -> Iterator[LiveNode]:
    depths = ("--safe-depth", str(SAFE), "--finalized-depth", str(FINALIZED))
    with live_node("--admin", "127.0.0.1:0", *depths) as node:
        # From here on blocks are sealed only on request.
        node.rpc("evm_setIntervalMining", 0)
        yield node


def test_tags_return_the_same_as_their_numbers(node: LiveNode) -> None:
    rpc = node.rpc
    admin = Rpc(wait_for(lambda: re.search(r"admin listener at (\S+)", node.printed), 10, "admin URL")[1])
    start = int(rpc("eth_blockNumber"), 16)
    queries = tag_queries(rpc, CONTRACT)
    assert {"eth_getBlockByNumber", "eth_getLogs", "eth_call", "eth_getProof", "debug_traceBlockByNumber"} <= dict(
        queries
    ).keys()
    assert len(queries) > 20

    def agree(*numbers: int) -> None:
        for tag, number in zip(TAGS, numbers, strict=True):
            assert rpc("eth_getBlockByNumber", tag, False)["number"] == hex(number), tag
            by_tag, by_number = answers(rpc, queries, tag), answers(rpc, queries, hex(number))
            for (method, _), left, right in zip(queries, by_tag, by_number, strict=True):
                assert left == right, f"{method} for {tag}"

    def seal(blocks: int) -> None:
        sender = Sender(rpc, DEV_ACCOUNTS[0])
        for _ in range(blocks):
            sender.send(to=to_checksum_address(CONTRACT), gas=100_000)
            rpc("evm_mine")

    def trailing(latest: int) -> tuple[int, int, int, int]:
        return 0, max(latest - FINALIZED, 0), max(latest - SAFE, 0), latest

    rpc("anvil_setCode", CONTRACT, CODE)
    agree(*trailing(start))
    seal(3)
    agree(*trailing(start + 3))
    seal(5)
    top = start + 8
    agree(*trailing(top))
    logs = rpc("eth_getLogs", {"fromBlock": "earliest", "toBlock": "latest", "address": CONTRACT})
    assert [int(log["data"], 16) for log in logs] == list(range(start + 1, top + 1))
    assert admin("foreseal_setFinality", {"safe": hex(top - 1), "finalized": hex(top - 3)}) is True
    agree(0, top - 3, top - 1, top)
    seal(2)
    agree(0, top - 3, top - 1, top + 2)
    rpc("anvil_rollback", 4)
    agree(0, top - 3, top - 2, top - 2)
    rpc("anvil_rollback", 2)
    agree(0, top - 4, top - 4, top - 4)
    seal(1)
    agree(0, top - 4, top - 4, top - 3)
    admin.close()
