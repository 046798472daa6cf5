"""Loads a node with token transfers: `python -m traffic.transfers URL TOKEN SEED`, until SIGTERM."""

import random
import signal
import sys
import time
from typing import Any

from foreseal.client import Client, ClientError, Options, RpcError, calls
from live import DEV_ACCOUNTS, Rpc
from live.contracts import contract
from traffic.wallet import Wallet

# Transactions of one request, and the maximum in the pool before the next one.
BATCH = 50
WAITING = 400
# Supply of the token.
SUPPLY = 10**15


def transfer_call(to: str, amount: int) -> bytes:
    """Return the call data of a token's `transfer`."""
    return bytes.fromhex("a9059cbb" + to[2:].rjust(64, "0") + f"{amount:064x}")


def deploy_token(rpc: Rpc) -> str:
    """Deploy a token, share its supply among the development accounts, and return its address."""
    owner = Wallet(DEV_ACCOUNTS[0])
    created = owner.sign(0, b"", _creation(), gas=2_000_000)
    rpc("eth_sendRawTransaction", created.raw)
    token = _receipt(rpc, created.hash)["contractAddress"]
    for nonce, account in enumerate(DEV_ACCOUNTS[1:], 1):
        data = transfer_call(account.address.lower(), SUPPLY // 100)
        last = owner.sign(nonce, bytes.fromhex(token[2:]), data)
        rpc("eth_sendRawTransaction", last.raw)
    _receipt(rpc, last.hash)
    return str(token)


def _creation() -> bytes:
    return bytes.fromhex(contract("Token").bytecode.removeprefix("0x")) + SUPPLY.to_bytes(32, "big")


def _receipt(rpc: Rpc, hash: str) -> dict[str, Any]:
    """Wait for the receipt."""
    while (receipt := rpc("eth_getTransactionReceipt", hash)) is None:
        time.sleep(0.01)
    assert receipt["status"] == "0x1"
    return dict(receipt)


class Load:
    """Sends from every development account in rotation."""

    def __init__(self, url: str, token: str, seed: int) -> None:
        self.sent = 0
        self.stopped = False
        self._token = bytes.fromhex(token[2:])
        self._rng = random.Random(seed)
        self._wallets = [Wallet(account) for account in DEV_ACCOUNTS]
        self._nonces: dict[str, int] = {}
        self._client = Client(url, Options(timeout=5.0, attempts=1))

    def run(self) -> None:
        """Send until stopped; wait while the node is down."""
        while not self.stopped:
            try:
                self._round()
            except (ClientError, RpcError):
                # Pooled transactions may be lost: query every account's nonce again.
                self._nonces.clear()
                time.sleep(0.05)
        self._client.close()

    def _round(self) -> None:
        if self._client.status().pool.pooled > WAITING:
            time.sleep(0.002)
            return
        wallet = self._rng.choice(self._wallets)
        if wallet.address not in self._nonces:
            self._nonces[wallet.address] = self._client.get_transaction_count(wallet.address, "pending")
        first = self._nonces[wallet.address]
        raw = [self._signed(wallet, first + more) for more in range(self._rng.randint(1, BATCH))]
        self._client.batch([calls.send_raw_transaction(each) for each in raw])
        self._nonces[wallet.address] = first + len(raw)
        self.sent += len(raw)

    def _signed(self, wallet: Wallet, nonce: int) -> str:
        to = self._rng.choice(self._wallets).address.lower()
        return wallet.sign(nonce, self._token, transfer_call(to, self._rng.randrange(3))).raw


def main() -> None:
    """Run it; print the number of sent transactions."""
    load = Load(sys.argv[1], sys.argv[2], int(sys.argv[3]))

    def stop(*_: Any) -> None:
        load.stopped = True

    signal.signal(signal.SIGTERM, stop)
    load.run()
    print(load.sent)


if __name__ == "__main__":
    main()
