"""anvil repeats Foreseal's sealed blocks."""

from pathlib import Path

from differential.anvil_replay import anvil_replay
from live import DEV_ACCOUNTS
from live.sending import GWEI, signed

FEE_RECIPIENT = "0x00000000000000000000000000000000000000fe"


def test_anvil_reproduces_the_blocks_of_foreseal(tmp_path: Path) -> None:
    alice, bob = DEV_ACCOUNTS[:2]
    with anvil_replay(tmp_path, "--fee-recipient", FEE_RECIPIENT, "--block-time", "1s") as both:
        for first in (0, 2):
            both.send(*(signed(alice, first + n, to=bob.address, value=GWEI, gas=21000) for n in range(2)))
            both.send(signed(bob, first // 2, to=alice.address, value=7))
            both.settle()
        calls = [("eth_getBalance", account, "latest") for account in (alice.address, bob.address, FEE_RECIPIENT)]
        calls += [("eth_getTransactionCount", account.address, "latest") for account in (alice, bob)]
        assert [both.node.rpc(*call) for call in calls] == [both.peer.rpc(*call) for call in calls]
        assert int(both.peer.rpc("eth_getTransactionCount", alice.address, "latest"), 16) == 4
