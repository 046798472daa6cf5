"""RLP, compared with the PyPI package of that name."""

from typing import Any

import rlp
from rlp.exceptions import RLPException

from foreseal.codec import rlp_decode, rlp_encode


def run(data: bytes) -> None:
    """Check that both decode the same bytes to the same item, and that its encoding is unique."""
    try:
        item: Any = rlp_decode(data)
    except ValueError as error:
        assert "data: " in str(error) and " at offset " in str(error), error
        item = None
    try:
        theirs: Any = rlp.decode(data)
    except RLPException:
        theirs = None
    assert item == theirs, (item, theirs)
    if item is not None:
        assert rlp_encode(item) == data
        assert rlp.encode(item) == data
