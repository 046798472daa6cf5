"""S6, S7, S8, S10: damaged files, a second writer, another signer."""

import itertools
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hostile.chain import Chain, kill_quietly
from hostile.facts import BALANCE, LOGGER, RICH, STORING
from hostile.findings.finding import Bench
from hostile.signing import Account, accounts
from live.blocks import wait_for
from live.process import LiveNode
from live.rpc import Rpc, RpcFailure

_FAST = ("--block-time", "1s", "--step", "50ms")
_FLIPS = 14
_SEAL_TIME = 30.0
_STATE = ("eth_getBalance", "eth_getTransactionCount", "eth_getCode", "eth_getStorageAt")
Answers = dict[str, Any]


def start(chain: Chain, *options: str) -> tuple[LiveNode | None, str]:
    """Start a node; return None and its last line of output if it exits."""
    try:
        return chain.start(*options), ""
    except (RuntimeError, AssertionError) as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        return None, lines[-1].strip()[:160] if lines else "it ended"


def stop(node: LiveNode) -> None:
    """Stop a node gracefully."""
    code = node.stop()
    if code:
        raise RuntimeError(f"the node ended with exit code {code}: {node.printed[-500:]}")


def sealed_blocks(rpc: Rpc) -> dict[int, str]:
    """Return hashes of all sealed blocks."""
    newest = int(rpc("eth_blockNumber"), 16)
    return {number: rpc("eth_getBlockByNumber", hex(number), False)["hash"] for number in range(newest + 1)}


def submit(rpc: Rpc, senders: list[Account], begin: int, rounds: int, pause: float) -> list[str]:
    """Submit one transaction of each sender and round; return their hashes."""
    hashes = []
    for number in range(begin, begin + rounds):
        hashes += [rpc("eth_sendRawTransaction", sender.sign(number).raw) for sender in senders]
        time.sleep(pause)
    return hashes


@dataclass
class Target:
    """Bytes of a value whose bits are flipped."""

    name: str
    data: bytes
    every_copy: bool = False
    """Flip the bit in each page that has a copy: from outside, the copy in use is unknown."""


def flipped_bits(bench: Bench) -> None:
    """S6: one flipped bit in the store of a stopped node, and the node's responses afterwards."""
    with bench.chain() as chain:
        node = chain.start(*_FAST)
        try:
            chain.populate(node.rpc)
            senders = accounts("hostile", 4)
            hashes = submit(node.rpc, senders, 0, 8, 0.5)
            wait_for(lambda: _is_sealed(node.rpc, hashes[-1]), _SEAL_TIME, "sealed block")
            newest = int(node.rpc("eth_blockNumber"), 16) - 1
            expected = answers(node.rpc, newest, hashes)
            targets = list(_targets(node.rpc, newest, hashes, senders))
            time.sleep(1.0)
            stop(node)
        finally:
            kill_quietly(node)
        _flip_each(bench, chain, targets, (newest, hashes, expected))


def _is_sealed(rpc: Rpc, digest: str) -> bool:
    receipt = rpc("eth_getTransactionReceipt", digest)
    return bool(receipt) and int(rpc("eth_blockNumber"), 16) > int(receipt["blockNumber"], 16)


def _targets(rpc: Rpc, newest: int, hashes: list[str], senders: list[Account]) -> Iterator[Target]:
    """Return stored values that appear literally in the store."""
    block = rpc("eth_getBlockByNumber", hex(newest - 2), False)
    balance = int(rpc("eth_getBalance", senders[0].address, hex(newest)), 16)
    for name, amount in (("balance of the senders", balance), ("balance of other accounts", BALANCE)):
        yield Target(name, amount.to_bytes((amount.bit_length() + 7) // 8), every_copy=True)
    for field in ("stateRoot", "parentHash", "receiptsRoot", "transactionsRoot"):
        yield Target(f"{field} of a block", bytes.fromhex(block[field][2:]))
    for number in (0, 9):
        transaction = rpc("eth_getTransactionByHash", hashes[number])
        yield Target(f"signature of transaction {number}", int(transaction["r"], 16).to_bytes(32))
        yield Target(f"hash of transaction {number}", bytes.fromhex(hashes[number][2:]))
    yield Target("code of a contract", b"\x60\x20\x5f\xa3\x30\x33\x7f")
    yield Target("topic of a log", bytes.fromhex("ddf252ad1be2c89b69c2b068fc378daa"))
    yield Target("address of an account", senders[2].raw_address)
    yield Target("address of a contract", LOGGER)


def answers(rpc: Rpc, newest: int, hashes: list[str]) -> Answers:
    """Return the node's responses about everything up to a block; errors as their code."""
    asked: list[tuple[Any, ...]] = []
    for number in range(newest + 1):
        block = hex(number)
        asked += [("eth_getBlockByNumber", block, True), ("eth_getBlockReceipts", block)]
        asked += [("eth_getLogs", {"fromBlock": block, "toBlock": block}), ("debug_getRawBlock", block)]
    for digest in hashes:
        asked += [("eth_getTransactionByHash", digest), ("eth_getTransactionReceipt", digest)]
    addresses = [account.address for account in accounts("hostile", 6)] + [RICH]
    addresses += ["0x" + LOGGER.hex(), "0x" + STORING.hex()]
    for address in addresses:
        asked += [
            (method, address, hex(newest)) for method in ("eth_getBalance", "eth_getTransactionCount", "eth_getCode")
        ]
    asked += [("eth_getStorageAt", "0x" + STORING.hex(), hex(slot), hex(newest)) for slot in range(0, 4096, 64)]
    replies = {}
    for call in asked:
        try:
            replies[repr(call)] = rpc(*call)
        except RpcFailure as failure:
            replies[repr(call)] = f"error {failure.code}"
        except OSError as error:
            replies[repr(call)] = f"error {type(error).__name__}"
    return replies


def _flip_each(bench: Bench, chain: Chain, targets: list[Target], expected: tuple[int, list[str], Answers]) -> None:
    original = chain.datadir
    stored = (original / "store" / "data.mdb").read_bytes()
    copies: list[list[tuple[Target, list[int]]]] = []
    for target in targets:
        offsets = list(_occurrences(stored, target.data))
        copies.append([(target, offsets)] if target.every_copy else [(target, [offset]) for offset in offsets])
    # The newest copy of each value comes first, then older ones.
    places = [place for turn in itertools.zip_longest(*copies) for place in turn if place]
    counts = {"refused to start": 0, "answered with errors": 0, "served": 0, "built upon": 0, "no effect": 0}
    served = []
    for number, (target, offsets) in enumerate(places[:_FLIPS]):
        chain.datadir = chain.folder / f"flip-{number}"
        shutil.copytree(original, chain.datadir)
        for offset in offsets:
            _flip(chain.datadir / "store" / "data.mdb", offset + len(target.data) // 2, number % 8)
        outcome, detail = _outcome(chain, *expected)
        counts[outcome] += 1
        if outcome in ("served", "built upon"):
            served.append(f"{target.name}: {detail}")
        shutil.rmtree(chain.datadir, ignore_errors=True)
    chain.datadir = original
    shown = ", ".join(f"{name} {count}" for name, count in counts.items())
    detail = f"; {'; '.join(served)[:600]}" if served else ""
    bench.add("S6", f"{len(places[:_FLIPS])} single-bit flips in data.mdb", shown + detail, is_open=bool(served))


def _occurrences(data: bytes, wanted: bytes) -> Iterator[int]:
    """Return the offsets of some bytes, the last one first."""
    at = data.rfind(wanted)
    while at >= 0:
        yield at
        at = data.rfind(wanted, 0, at + len(wanted) - 1)


def _flip(file: Path, at: int, bit: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(at)
        (value,) = opened.read(1)
        opened.seek(at)
        opened.write(bytes([value ^ 1 << bit]))


def _outcome(chain: Chain, newest: int, hashes: list[str], expected: Answers) -> tuple[str, str]:
    node, reason = start(chain, *_FAST)
    if node is None:
        return "refused to start", reason
    try:
        replies = answers(node.rpc, newest, hashes)
        wrong = [
            name for name in expected if replies[name] != expected[name] and not str(replies[name]).startswith("error")
        ]
        is_sealing = _is_sealing(node.rpc)
        # A second round shows values that are read only during execution.
        replies = answers(node.rpc, newest, hashes)
        wrong += [
            name for name in expected if replies[name] != expected[name] and not str(replies[name]).startswith("error")
        ]
    except (OSError, RpcFailure, ValueError, KeyError, TypeError) as error:
        return "answered with errors", repr(error)
    finally:
        kill_quietly(node)
    state = [name for name in wrong if any(method in name for method in _STATE)]
    if state and is_sealing:
        return "built upon", state[0]
    if wrong:
        return "served", wrong[0]
    return ("answered with errors", "") if replies != expected else ("no effect", "")


def _is_sealing(rpc: Rpc) -> bool:
    """Return `True` if the node seals transactions of the accounts whose values were flipped."""
    digests = []
    for sender in accounts("hostile", 4):
        try:
            nonce = int(rpc("eth_getTransactionCount", sender.address, "pending"), 16)
            digests.append(rpc("eth_sendRawTransaction", sender.sign(nonce).raw))
        except RpcFailure:
            continue
    end = time.monotonic() + 3.0
    while time.monotonic() < end:
        try:
            if digests and all(_is_sealed(rpc, digest) for digest in digests[:2]):
                return True
        except (RpcFailure, OSError):
            return False
        time.sleep(0.1)
    return False


def truncated_journal(bench: Bench) -> None:
    """S7: zeros over the last 40 % of the used journal after a clean stop, the store unchanged."""
    with bench.chain() as chain:
        node = chain.start(*_FAST)
        try:
            hashes = submit(node.rpc, accounts("hostile", 10), 0, 40, 0.1)
            wait_for(lambda: node.rpc("eth_getTransactionReceipt", hashes[-1]), _SEAL_TIME, "receipt")
            blocks = sealed_blocks(node.rpc)
            signer = node.rpc("foreseal_status").get("signer")
            stop(node)
        finally:
            kill_quietly(node)
        zeroed = _zero_tail(chain.datadir / "journal", 0.4)
        again, reason = start(chain, *_FAST)
        case = f"last 40 % of the used journal zeroed, {zeroed} bytes"
        if again is None:
            bench.add("S7", case, f"refused to start: {reason}", is_open=False)
            return
        try:
            time.sleep(2.5)
            newest = sealed_blocks(again.rpc)
            changed = [number for number, digest in blocks.items() if newest.get(number) != digest]
            missing = [digest for digest in hashes if again.rpc("eth_getTransactionReceipt", digest) is None]
            same = again.rpc("foreseal_status").get("signer") == signer
        finally:
            kill_quietly(again)
        measured = f"started; {len(changed)} sealed blocks rewritten, {len(missing)} pre-confirmed transactions dropped"
        measured += f", {'the same' if same else 'another'} signer"
        bench.add("S7", case, measured, is_open=bool(changed or missing))


def _zero_tail(folder: Path, part: float) -> int:
    """Write zeros over the last part of the used bytes of the newest file; return their number."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    file = [each for each in files if each.read_bytes().rstrip(b"\0")][-1]
    used = len(file.read_bytes().rstrip(b"\0"))
    count = int(used * part)
    with file.open("r+b") as opened:
        opened.seek(used - count)
        opened.write(bytes(count))
    return count


def second_writer(bench: Bench) -> None:
    """S8: another node on a data directory whose lock file was deleted."""
    for names in (("LOCK",), ("LOCK", "store/lock.mdb")):
        with bench.chain() as chain:
            node = chain.start(*_FAST)
            second = None
            try:
                for name in names:
                    (chain.datadir / name).unlink(missing_ok=True)
                second, reason = start(chain, *_FAST)
                measured = "a second writer is ready next to the first" if second else f"refused: {reason}"
                bench.add("S8", f"{' and '.join(names)} deleted", measured, is_open=second is not None)
            finally:
                kill_quietly(node)
                if second is not None:
                    kill_quietly(second)


def other_signer(bench: Bench) -> None:
    """S10: a missing key, and one with a changed digit."""
    for case in ("sequencer.key deleted", "one digit of sequencer.key changed"):
        with bench.chain() as chain:
            node = chain.start(*_FAST)
            try:
                signer = node.rpc("foreseal_status")["signer"]
                time.sleep(1.0)
                stop(node)
            finally:
                kill_quietly(node)
            file = chain.datadir / "sequencer.key"
            text = file.read_text()
            if "deleted" in case:
                file.unlink()
            else:
                at = text.strip().rfind(text.strip()[-1])
                file.write_text(text[:at] + ("1" if text[at] != "1" else "2") + text[at + 1 :])
            again, reason = start(chain, *_FAST)
            if again is None:
                bench.add("S10", case, f"refused to start: {reason}", is_open=False)
                continue
            try:
                changed = again.rpc("foreseal_status")["signer"]
            finally:
                kill_quietly(again)
            measured = f"started; signer {signer[:10]} before, {changed[:10]} after"
            bench.add("S10", case, measured, is_open=changed != signer)
