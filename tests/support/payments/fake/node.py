"""The fake chain as a node: JSON-RPC with responses, errors and lost responses like those of real nodes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import orjson

from foreseal.client.errors import ConnectionLost
from foreseal.client.requests import Request
from foreseal.errors import RpcError
from payments.fake.blocks import Block, FakeChain, decoded
from payments.fake.contracts import TOKEN, Revert, accepts, selector

# Larger block ranges are rejected, like on public nodes.
_WIDEST = 2_000
GAS_USED = 90_000
"""Gas of every transaction."""
_IS_VALID = selector("isValidSignature(bytes32,bytes)")


class Disturbed(ABC):
    """A node whose `request` matches `foreseal.client.Client`, with optional lost responses."""

    def __init__(self) -> None:
        self.poor: set[str] = set()
        """Accounts that cannot pay gas."""
        self.oversized: set[int] = set()
        """Account nonces of which transactions with call data are rejected for good."""
        self.losses: list[tuple[str, bool]] = []
        """Methods whose next response is lost, and True if the call is executed before."""
        self.max_logs: int | None = None
        """Maximum number of logs of one result; the node rejects a call with more."""
        self.doubled = False
        """True if eth_getLogs returns every log twice, and one that was removed."""
        self.calls: list[str] = []
        self.widest = 0
        self.hook: Any = None
        """Called with every method before the node responds."""

    def request(self, method: str, *params: Any) -> Any:
        """Return the result of a method. Raise `RpcError` and `ConnectionLost`."""
        self.calls.append(method)
        if self.hook is not None:
            self.hook(method)
        loss = next((each for each in self.losses if each[0] == method), None)
        if loss is not None:
            self.losses.remove(loss)
            if not loss[1]:
                raise ConnectionLost(f"{method} was not sent")
        if method == "eth_getLogs":
            self._measure(params[0])
        if method == "eth_sendRawTransaction":
            transaction = decoded(bytes.fromhex(params[0][2:]))
            if transaction.sender in self.poor:
                raise RpcError(-32000, "insufficient funds for gas * price + value")
            if transaction.data and transaction.nonce in self.oversized:
                raise RpcError(-32000, "oversized data: transaction size 131501, limit 131072")
        answer = self.answer(method, *params)
        if self.max_logs is not None and _log_count(method, answer) > self.max_logs:
            raise RpcError(-32005, "the result is too large")
        if loss is not None:
            raise ConnectionLost(f"the answer to {method} was lost")
        if self.doubled and method == "eth_getLogs":
            return [*answer, *({**log, "removed": True, "blockHash": "0x" + "ee" * 32} for log in answer[:1]), *answer]
        return answer

    def batch(self, requests: Sequence[Request[Any]], *, return_errors: bool = False) -> list[Any]:
        """Return the results in request order. A failed request yields its `RpcError`; a lost one loses the batch."""
        assert return_errors
        results: list[Any] = []
        for request in requests:
            try:
                results.append(self.request(request.method, *request.params))
            except RpcError as error:
                results.append(error)
        return results

    @abstractmethod
    def answer(self, method: str, *params: Any) -> Any:
        """Return the result of a method. Raise `RpcError`."""

    @abstractmethod
    def number(self, name: str) -> int:
        """Return the number of a block."""

    def _measure(self, wanted: dict[str, Any]) -> None:
        blocks = self.number(wanted["toBlock"]) - self.number(wanted["fromBlock"]) + 1
        self.widest = max(self.widest, blocks)
        if blocks > _WIDEST:
            raise RpcError(-32005, "query exceeds 2000 blocks")


class FakeNode(Disturbed):
    """The chain in memory as a node."""

    def __init__(self, chain: FakeChain) -> None:
        super().__init__()
        self.chain = chain
        self.ether: dict[str, int] = {}
        """Ether in wei of accounts whose balance is not the usual one."""

    def answer(self, method: str, *params: Any) -> Any:
        if not hasattr(self, method):
            raise RpcError(-32601, f"the method {method} does not exist/is not available")
        return getattr(self, method)(*params)

    def number(self, name: str) -> int:
        return self._existing(name).number

    def eth_chainId(self) -> str:
        return hex(self.chain.chain_id)

    def eth_getBalance(self, address: str, _: str) -> str:
        return hex(self.ether.get(address, 10**20))

    def eth_maxPriorityFeePerGas(self) -> str:
        return hex(10**9)

    def eth_getBlockByNumber(self, name: str, full: bool) -> Any:
        block = self._block(name)
        if block is None:
            return None
        return {
            "number": hex(block.number),
            "hash": block.hash,
            "parentHash": block.parent,
            "timestamp": hex(block.time),
            "baseFeePerGas": hex(10**9),
        }

    def eth_getTransactionCount(self, address: str, name: str) -> str:
        return hex(self._existing(name).state.nonces.get(address.lower(), 0))

    def eth_getCode(self, address: str, name: str) -> str:
        return "0x60" if address.lower() in (TOKEN, *self.chain.wallets) else "0x"

    def eth_call(self, call: dict[str, str], name: str, overrides: dict[str, dict[str, str]] | None = None) -> str:
        sender, to, data = call.get("from", "0x" + bytes(20).hex()).lower(), call["to"].lower(), call["data"][2:]
        if overrides is not None:  # code that forwards the call to the token
            assert overrides.keys() == {call["to"]}
            assert TOKEN[2:] in overrides[call["to"]]["code"]
            sender, to = to, TOKEN
        return self._answered(name, sender, to, bytes.fromhex(data))

    def _answered(self, name: str, sender: str, to: str, data: bytes) -> str:
        if to in self.chain.wallets and data[:4] == _IS_VALID:
            from eth_abi.abi import decode

            digest, signature = decode(["bytes32", "bytes"], data[4:])
            good = accepts(self.chain.wallets[to], to, digest, signature)
            return "0x" + (_IS_VALID if good else bytes(4)).ljust(32, b"\0").hex()
        return "0x" + self._executed(name, sender, to, data).hex()

    def eth_estimateGas(self, call: dict[str, str], name: str) -> str:
        self._executed(name, call["from"].lower(), call["to"].lower(), bytes.fromhex(call["data"][2:]))
        return hex(100_000)

    def eth_sendRawTransaction(self, raw: str) -> str:
        transaction = decoded(bytes.fromhex(raw[2:]))
        key = transaction.sender, transaction.nonce
        chain = self.chain
        if any(each.transaction.hash == transaction.hash for each in chain.pending.landed):
            raise RpcError(-32000, "already known")
        if chain.pending.state.nonces.get(transaction.sender, 0) > transaction.nonce:
            raise RpcError(-32000, "nonce too low")
        other = chain.pool.get(key)
        if other == transaction:
            raise RpcError(-32000, "already known")
        if other is not None and (
            transaction.fee * 10 < other.fee * 11 or transaction.priority_fee * 10 < other.priority_fee * 11
        ):
            raise RpcError(-32000, "replacement transaction underpriced")
        chain.pool[key] = transaction
        return transaction.hash

    def eth_getTransactionReceipt(self, hash: str) -> Any:
        location = self.chain.find(hash)
        if location is None:
            return None
        block, landed = location
        return {
            "transactionHash": hash,
            "blockNumber": hex(block.number),
            "blockHash": block.hash,
            "status": hex(landed.succeeded),
            "gasUsed": hex(GAS_USED),
            "logs": [log for each, log in block.logs() if each is landed],
        }

    def eth_getLogs(self, wanted: dict[str, Any]) -> list[Any]:
        first, last = self._existing(wanted["fromBlock"]), self._existing(wanted["toBlock"])
        blocks = [*self.chain.blocks, self.chain.pending][first.number : last.number + 1]
        return [log for block in blocks for _, log in block.logs() if _fits(log, wanted)]

    def _executed(self, name: str, sender: str, to: str, data: bytes) -> bytes:
        try:
            return self.chain.call(self._existing(name), sender, to, data)
        except Revert as error:
            shown = orjson.dumps("0x" + error.data.hex())
            raise RpcError(3, f"execution reverted: {error.reason}", shown) from error

    def _existing(self, name: str) -> Block:
        block = self._block(name)
        if block is None:
            raise RpcError(-32000, "header not found")
        return block

    def _block(self, name: str) -> Block | None:
        chain = self.chain
        if name == "pending":
            return chain.pending
        named = {"latest": chain.latest.number, "safe": chain.safe, "finalized": chain.finalized}
        number = named[name] if name in named else int(name, 16)
        return chain.blocks[number] if number <= chain.latest.number else None


def _fits(log: dict[str, Any], wanted: dict[str, Any]) -> bool:
    if log["address"] != wanted["address"].lower():
        return False
    if len(log["topics"]) < len(wanted["topics"]):
        return False
    return all(each is None or topic in each for topic, each in zip(log["topics"], wanted["topics"], strict=False))


def _log_count(method: str, answer: Any) -> int:
    """Return the number of logs of a result."""
    if method == "eth_getLogs":
        return len(answer)
    return len(answer["logs"]) if method == "eth_getTransactionReceipt" and answer is not None else 0
