"""Assembly of a step that the node sends in parts.

{number, index, hash, parent, header, transactions, receipts, part: {index: 0, last: false}}
{number, index, hash, transactions, receipts, part: {index: 1, last: false}}     may begin with more logs of the
{number, index, hash, transactions, receipts, part: {index: 2, last: true}}      last receipt, by transactionHash
"""

from typing import Any

from foreseal.client.errors import InvalidResponse


class FlashblockAssembler:
    """The parts of one step so far."""

    def __init__(self) -> None:
        self._whole: dict[str, Any] | None = None
        self._next = 0

    @property
    def is_empty(self) -> bool:
        """True if no step is incomplete."""
        return self._whole is None

    def clear(self) -> None:
        """Drop an incomplete step: the feed starts over at its cursor."""
        self._whole, self._next = None, 0

    def add(self, message: Any) -> dict[str, Any] | None:
        """Return the step once it is complete. Raise `InvalidResponse` if a part is missing or malformed."""
        if not isinstance(message, dict):
            raise InvalidResponse("a step is not an object")
        part = message.get("part")
        if part is None:
            if self._whole is not None:
                raise InvalidResponse("a step arrived before the last part of the step before it")
            return message
        try:
            index, is_last = int(part["index"], 16), part["last"]
            if index != self._next or (self._whole is not None and message["hash"] != self._whole["hash"]):
                raise InvalidResponse(f"part {index} of step {message['hash']} arrived instead of part {self._next}")
            if self._whole is None:
                self._whole = {name: value for name, value in message.items() if name != "part"}
            else:
                _extend(self._whole, message)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidResponse(f"a part of a step is malformed: {error}") from None
        self._next += 1
        if is_last is not True:
            return None
        whole = self._whole
        self.clear()
        return whole


def _extend(whole: dict[str, Any], message: dict[str, Any]) -> None:
    whole["transactions"].extend(message["transactions"])
    receipts = whole["receipts"]
    for receipt in message["receipts"]:
        if receipts and receipts[-1]["transactionHash"] == receipt["transactionHash"]:
            receipts[-1]["logs"].extend(receipt["logs"])
        else:
            receipts.append(receipt)
