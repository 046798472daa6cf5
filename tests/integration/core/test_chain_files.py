"""foreseal._core.run_import and run_export."""

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from foreseal._core import Node, run_export, run_import
from foreseal.errors import NodeError
from live_node import produce, settings, shared

BLOCKS = 54
HEAD = "0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7"


def ignore(block: int, done: int, size: int) -> None:
    """Ignore progress."""


def sample(datadir: Path) -> bytes:
    """Return settings of the sample chain in `datadir`."""
    genesis = shared("execution-apis") / "genesis.json"
    return orjson.dumps({"datadir": str(datadir), "chain": {"kind": "file", "path": str(genesis)}})


def items(chain: bytes) -> Iterator[bytes]:
    """Yield the blocks of a file, each longer than 255 bytes."""
    while chain:
        size = 3 + int.from_bytes(chain[1:3])
        assert chain[0] == 0xF9
        yield chain[:size]
        chain = chain[size:]


def test_sample_chain_is_exported_as_imported(tmp_path: Path) -> None:
    chain = shared("execution-apis") / "chain.rlp"
    assert run_import(sample(tmp_path / "data"), chain, ignore) == (BLOCKS, 0, BLOCKS, HEAD)
    assert run_import(sample(tmp_path / "data"), str(chain), ignore) == (0, BLOCKS, BLOCKS, HEAD)
    stored = orjson.dumps({"datadir": str(tmp_path / "data")})
    assert run_export(stored, tmp_path / "out.rlp", ignore) == (BLOCKS, 0, BLOCKS, HEAD)
    assert (tmp_path / "out.rlp").read_bytes() == chain.read_bytes()


def test_the_first_bad_block_ends_the_import(tmp_path: Path) -> None:
    blocks = list(items((shared("execution-apis") / "chain.rlp").read_bytes()))
    # The last bytes of a block are its withdrawals or transactions: their root then differs from the header's.
    bad = bytearray(blocks[20])
    bad[-20] ^= 1
    (tmp_path / "bad.rlp").write_bytes(b"".join([*blocks[:20], bytes(bad), *blocks[21:]]))
    with pytest.raises(NodeError, match="block 21") as error:
        run_import(sample(tmp_path / "data"), tmp_path / "bad.rlp", ignore)
    assert error.value.kind == "block"
    # The blocks before it stay.
    (tmp_path / "rest.rlp").write_bytes(b"".join(blocks))
    done, known, head, digest = run_import(sample(tmp_path / "data"), tmp_path / "rest.rlp", ignore)
    assert (done, known, head, digest) == (BLOCKS - 20, 20, BLOCKS, HEAD)


def test_exception_of_the_progress_callback_ends_the_run_cleanly(tmp_path: Path) -> None:
    produce(tmp_path / "data", 1)

    def stop(block: int, done: int, size: int) -> None:
        raise InterruptedError(f"{block} {done} {size > 0}")

    stored = orjson.dumps({"datadir": str(tmp_path / "data")})
    with pytest.raises(InterruptedError, match="1 1 True"):
        run_export(stored, tmp_path / "out.rlp", stop)
    blocks, _, head, digest = run_export(stored, tmp_path / "out.rlp", ignore)
    assert blocks == head >= 1
    # The exported chain is imported again: the settings make the same development genesis.
    again = run_import(settings(tmp_path / "again"), tmp_path / "out.rlp", ignore)
    assert again == (blocks, 0, head, digest)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NodeError, match=r"/no/such\.rlp") as error:
        run_import(settings(tmp_path / "data"), "/no/such.rlp", ignore)
    assert error.value.kind == "io"


def test_running_node_locks_its_directory(tmp_path: Path) -> None:
    node = Node(settings(tmp_path / "data"))
    for work in (run_import, run_export):
        with pytest.raises(NodeError, match="in use") as error:
            work(settings(tmp_path / "data"), tmp_path / "x.rlp", ignore)
        assert error.value.kind == "in-use"
    assert node.freshness()[0] == 0
