"""Requests for simulations, and code to simulate."""

from typing import Any

import pytest

from foreseal.errors import RpcError
from foreseal.testing import Chain

ALICE = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
BOB = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
CAROL = "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc"
NOBODY = "0x00000000000000000000000000000000000d00d5"
CODE = "0x0000000000000000000000000000000000c0de01"
OTHER_CODE = "0x0000000000000000000000000000000000c0de02"


def returns(program: str) -> str:
    """Return code that returns the word which `program` leaves on the stack."""
    return f"0x{program}5f5260205ff3"


def sends_value_to(address: str, then: str = "00") -> str:
    """Return code that forwards its value, and ends with `then`."""
    return f"0x5f5f5f5f3473{address[2:]}5af150{then}"


REVERTS = "5f5ffd"
ECHOES = "0x365f5f37365ff3"
"""Returns its input."""


def simulate(chain: Chain, *blocks: dict[str, Any], at: str = "latest", **options: Any) -> list[dict[str, Any]]:
    """Return the simulated blocks."""
    answer: list[dict[str, Any]] = chain.rpc("eth_simulateV1", {"blockStateCalls": list(blocks), **options}, at)
    return answer


def one(chain: Chain, call: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the result of a single call in a block; `more` are other fields of the block."""
    (block,) = simulate(chain, {"calls": [call], **more})
    (result,) = block["calls"]
    return dict(result)


def error(chain: Chain, *blocks: dict[str, Any], **options: Any) -> RpcError:
    """Return the error of a failing simulation."""
    with pytest.raises(RpcError) as raised:
        simulate(chain, *blocks, **options)
    return raised.value


def bytes32(value: int) -> str:
    return f"0x{value:064x}"
