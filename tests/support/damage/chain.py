"""The chain whose files are damaged, its responses, and blocks built on it."""

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from foreseal import _core
from foreseal.errors import RpcError
from live_node import JUNK, wait_until

BLOCKS = 48
TIME = 1_735_689_600
# Adds the second word of its input to the slot in the first word, and logs the second word.
ADDER = "602035600035540160003555602035600052600035602060 00a100".replace(" ", "")
# A code that needs its own pages.
LARGE = ADDER + "00" * 6000
GAS = hex(5_000_000)
PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Answer:
    """A response of a node: its bytes, or the text of its error."""

    text: str
    damaged: bool


def settings(datadir: Path, **changes: Any) -> bytes:
    """Return the settings of the chain in `datadir`, with hardly a block in memory."""
    chain = {"kind": "dev", "chain_id": 31337, "mnemonic": JUNK, "accounts": 4, "balance": hex(10**22), "alloc": {}}
    given = {"datadir": str(datadir), "chain": chain, "block_time": 1000, "log": {"levels": "off"}}
    return orjson.dumps(given | {"development": True, "store": {"recent": 1, "scrub_rate": 0}} | changes)


def init_code(code: str) -> str:
    """Return the input of a creation that deploys `code`."""
    length = f"{len(code) // 2:04x}"
    return f"0x61{length}600e600039" + f"61{length}6000f3" + code


def hex_word(number: int) -> str:
    """Return a number as 32 bytes of hex."""
    return f"{number:064x}"


class Driver:
    """A stepped node and its unlocked accounts."""

    def __init__(self, datadir: Path) -> None:
        """Open the chain in `datadir`. Raise NodeError."""
        self.node = _core.SteppedNode(settings(datadir), TIME)

    def close(self) -> None:
        """Stop the node and free its data directory."""
        self.node.stop()
        del self.node

    def rpc(self, method: str, *params: Any) -> Any:
        """Return the result of a call. Raise RpcError."""
        return orjson.loads(self.node.call(method, orjson.dumps(params)))

    def send(self, sender: int, **fields: Any) -> str:
        """Send a transaction of an account."""
        accounts = self.rpc("eth_accounts")
        call = {"from": accounts[sender], "gas": GAS, "maxFeePerGas": hex(10**11), **fields}
        return str(self.rpc("eth_sendTransaction", call))

    def answer(self, method: str, params: list[Any]) -> Answer:
        """Return the response to a call, error or not."""
        try:
            return Answer(self.node.call(method, orjson.dumps(params)).decode(), damaged=False)
        except RpcError as error:
            return Answer(f"{error.code}: {error.message}", damaged="damaged" in error.message)


def make(datadir: Path) -> None:
    """Make the chain in `datadir`, with all of it stored, and stop it cleanly."""
    driver = Driver(datadir)
    adders = []
    for code in (ADDER, ADDER, LARGE):
        hashed = driver.send(0, data=init_code(code))
        driver.node.seal()
        adders.append(driver.rpc("eth_getTransactionReceipt", hashed)["contractAddress"])
    for number in range(BLOCKS):
        driver.send(1, to=adders[number % 3], data="0x" + hex_word(number % 7) + hex_word(number + 1))
        driver.send(2, to=f"0x{number + 1:040x}", value=hex(number + 1))
        if number % 8 == 0:
            driver.send(3, to=f"0x{number:040x}", data="0x" + "ab" * 5000)
        driver.node.seal()
    driver.close()
    # The clean stop of a serving node lets the store catch up.
    node = _core.Node(settings(datadir, produce=False))
    node.start()
    wait_until(lambda: node.ready()[0])
    node.stop()


def questions(driver: Driver) -> Iterator[tuple[str, list[Any]]]:
    """Yield calls that read all stored data: by number, by hash, by index, at old blocks, and absent data."""
    head = int(driver.rpc("eth_blockNumber"), 16)
    contracts = []
    for number in range(head + 1):
        at = hex(number)
        block = driver.rpc("eth_getBlockByNumber", at, True)
        yield "eth_getBlockReceipts", [at]
        yield "eth_getBlockByHash", [block["hash"], False]
        for index, transaction in enumerate(block["transactions"]):
            yield "eth_getTransactionByHash", [transaction["hash"]]
            yield "eth_getTransactionReceipt", [transaction["hash"]]
            yield "eth_getTransactionByBlockNumberAndIndex", [at, hex(index)]
            if transaction["to"] is None:
                contracts.append(driver.rpc("eth_getTransactionReceipt", transaction["hash"])["contractAddress"])
        # No transaction has this hash: absence is a result as well.
        yield "eth_getTransactionByHash", [block["hash"]]
        yield "eth_getBlockByNumber", [at, True]
    for number in range(0, head + 1, 6):
        at = hex(number)
        for account in [*driver.rpc("eth_accounts"), f"0x{number + 1:040x}", f"0x{number + 1000:040x}"]:
            yield "eth_getBalance", [account, at]
            yield "eth_getTransactionCount", [account, at]
        for contract in contracts:
            yield "eth_getCode", [contract, at]
            for slot in range(8):
                yield "eth_getStorageAt", [contract, hex(slot), at]
            yield "eth_call", [{"to": contract, "data": "0x" + hex_word(3) + hex_word(1)}, at]
            yield "eth_getProof", [contract, [hex(3)], at]
    for contract in contracts:
        yield "eth_getLogs", [{"fromBlock": "0x0", "toBlock": "latest", "address": contract}]
    for topic in range(8):
        yield "eth_getLogs", [{"fromBlock": "0x0", "toBlock": "latest", "topics": ["0x" + hex_word(topic)]}]


def query(datadir: Path, calls: list[tuple[str, list[Any]]]) -> list[Answer]:
    """Return the responses of the node in `datadir`. Raise NodeError."""
    driver = Driver(datadir)
    try:
        return [driver.answer(method, params) for method, params in calls]
    finally:
        driver.close()


def build(datadir: Path) -> list[str]:
    """Build two blocks on the chain in `datadir`, and return their hashes. Raise NodeError and RpcError."""
    driver = Driver(datadir)
    try:
        accounts = driver.rpc("eth_accounts")
        contracts = [f"0x{int(_core.keccak(_created(accounts[0], nonce)).hex()[24:], 16):040x}" for nonce in range(3)]
        for number in range(2):
            for contract in contracts:
                driver.send(number, to=contract, data="0x" + hex_word(number + 2) + hex_word(9))
            for account in range(1, BLOCKS, 5):
                driver.send(3, to=f"0x{account:040x}", value=hex(7))
            driver.node.seal()
        head = int(driver.rpc("eth_blockNumber"), 16)
        return [driver.rpc("eth_getBlockByNumber", hex(number), False)["hash"] for number in (head - 1, head)]
    finally:
        driver.close()


def _created(creator: str, nonce: int) -> bytes:
    """Return the RLP of creator and nonce, whose hash is the address of the contract."""
    address = b"\x94" + bytes.fromhex(creator[2:])
    payload = address + (b"\x80" if nonce == 0 else bytes([nonce]))
    return bytes([0xC0 + len(payload)]) + payload


def copy(datadir: Path) -> Path:
    """Copy a data directory to a new folder in memory."""
    memory = Path("/dev/shm")
    target = Path(tempfile.mkdtemp(prefix="foreseal-flips-", dir=memory if memory.is_dir() else None))
    shutil.copytree(datadir, target, dirs_exist_ok=True, copy_function=_copy_file)
    return target


def _copy_file(source: str, target: str) -> str:
    """Copy a file as a sparse file: a segment of the journal is mostly empty."""
    with Path(source).open("rb") as read, Path(target).open("wb") as write:
        for offset in range(0, Path(source).stat().st_size, PIECE):
            piece = read.read(PIECE)
            if piece.count(0) != len(piece):
                write.seek(offset)
                write.write(piece)
        write.truncate(Path(source).stat().st_size)
    shutil.copymode(source, target)
    return target
