"""Transactions of strangers with transfers to the payee and as many logs as 2^24 gas buys, next to real payments."""

from pathlib import Path

from foreseal.payments.contracts.development import TOKEN
from live import live_node
from live.accounts import DEV_ACCOUNTS
from live.blocks import wait_for
from live.sending import Sender
from payments.api.serving import BUYERS, MERCHANT, Serving, Shopper, api_key, configure, health, serving
from payments.fake.contracts import call_data
from payments.logging_code import GAS, LOGS, created_address, logging_code

SECONDS = 60.0
STRANGER = DEV_ACCOUNTS[11]
POLICY = """[policy]
confirmed = "sealed"
"""


def peak_memory(service: Serving) -> int:
    """Return the largest resident memory of the process so far, in bytes."""
    lines = Path(f"/proc/{service.process.pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) * 1024


def test_payments_are_read_next_to_transactions_with_many_logs(tmp_path: Path) -> None:
    chain_options = ("--payments", "--block-time", "1s", "--safe-depth", "2", "--finalized-depth", "4")
    with live_node(*chain_options) as chain:
        config = configure(tmp_path, chain.url, f"sqlite:///{tmp_path}/pay.db", more=POLICY)
        with serving(config) as service, Shopper(service.url, api_key(config)) as shopper:
            stranger, payer = Sender(chain.rpc, STRANGER), Sender(chain.rpc, BUYERS[0])
            first = stranger.nonce()
            for nonce in (first + 2, first + 3):
                spender = created_address(STRANGER.address, nonce)
                approval = call_data("approve(address,uint256)", spender, 5)
                payer.send(to=TOKEN, data="0x" + approval.hex(), gas=100_000)
            free = call_data("transfer(address,uint256)", MERCHANT.address, 0)
            paid = call_data("transferFrom(address,address,uint256)", BUYERS[0].address, MERCHANT.address, 5)
            sent = [
                stranger.send(to=None, data="0x" + logging_code(call).hex(), gas=GAS)
                for call in (free, free, paid, paid)
            ]
            transfer = call_data("transfer(address,uint256)", MERCHANT.address, 12_345)
            direct = payer.send(to=TOKEN, data="0x" + transfer.hex(), gas=100_000)
            for hash in sent:
                receipt = wait_for(lambda hash=hash: chain.rpc("eth_getTransactionReceipt", hash), SECONDS, "a receipt")
                assert (receipt["status"], len(receipt["logs"]) > LOGS) == ("0x1", True)
            shopper.made(f"/v1/orders/{shopper.stored('a', 1_500_000, BUYERS[1])}/capture")
            wait_for(lambda: shopper.status("a") == "Used, captured / final", SECONDS, "a final capture")

            def unmatched() -> dict[str, str]:
                items = shopper.get("/v1/unmatched-transfers")["items"]
                return {item["transaction_hash"]: item["amount"] for item in items}

            expected = {direct: "12345", sent[2]: "5", sent[3]: "5"}
            wait_for(lambda: unmatched() == expected, SECONDS, "the direct transfer and those with logs")
            assert health(service.url)["reasons"] == []
            assert peak_memory(service) < 384 * 2**20
