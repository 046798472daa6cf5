"""Storage as solc lays it out: where a value goes, and the words that it takes."""

from foreseal.codec import keccak
from foreseal.payments.contracts.artifact import Artifact

WORD = 32
ADDRESS = 20


def address_bytes(address: str) -> bytes:
    """The 20 bytes of an address in hexadecimal. Raises ValueError."""
    found = bytes.fromhex(address.removeprefix("0x"))
    if len(found) != ADDRESS:
        raise ValueError(f"an address has {ADDRESS} bytes, {address!r} has {len(found)}")
    return found


def word(value: int | str | bytes) -> bytes:
    """The word of a number, of an address in hexadecimal, or of up to 32 bytes, which are padded on the left."""
    if isinstance(value, int):
        return value.to_bytes(WORD, "big")
    return (address_bytes(value) if isinstance(value, str) else value).rjust(WORD, b"\0")


def mapping_slot(slot: int, *keys: int | str | bytes) -> int:
    """The slot of a value in a mapping at `slot`, by its keys from the outer one inwards."""
    for key in keys:
        slot = int.from_bytes(keccak(word(key) + word(slot)), "big")
    return slot


def short_string(text: str) -> bytes:
    """The word of a string of at most 31 bytes, as OpenZeppelin's ShortStrings have it. Raises ValueError."""
    encoded = text.encode()
    if len(encoded) >= WORD:
        raise ValueError(f"{text!r} has more than {WORD - 1} bytes")
    return encoded.ljust(WORD - 1, b"\0") + bytes([len(encoded)])


class Storage:
    """The storage of a contract that is put together before the contract is there."""

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact
        self.slots: dict[int, int] = {}
        """The words, by slot."""

    def set(self, label: str, value: int | str) -> None:
        """Set a variable to a number or an address; what shares its slot stays. Raises ValueError if it is too wide."""
        variable = self.artifact.variable(label)
        number = int.from_bytes(word(value), "big")
        if number >> 8 * variable.size:
            raise ValueError(f"{label} has {variable.size} bytes, too few for {value!r}")
        mask = ((1 << 8 * variable.size) - 1) << 8 * variable.offset
        kept = self.slots.get(variable.slot, 0) & ~mask
        self.slots[variable.slot] = kept | number << 8 * variable.offset

    def set_string(self, label: str, text: str) -> None:
        """Set a variable of type string: in its slot up to 31 bytes, beyond that at the slot's hash."""
        slot, encoded = self.artifact.variable(label).slot, text.encode()
        if len(encoded) < WORD:
            self.slots[slot] = int.from_bytes(encoded.ljust(WORD, b"\0"), "big") | 2 * len(encoded)
            return
        self.slots[slot] = 2 * len(encoded) + 1
        begin = int.from_bytes(keccak(word(slot)), "big")
        for index in range(0, len(encoded), WORD):
            piece = encoded[index : index + WORD].ljust(WORD, b"\0")
            self.slots[begin + index // WORD] = int.from_bytes(piece, "big")

    def set_entry(self, label: str, *keys: int | str | bytes, value: int) -> None:
        """Set the value of a mapping, by its keys from the outer one inwards."""
        self.slots[mapping_slot(self.artifact.variable(label).slot, *keys)] = value

    def alloc(self) -> dict[str, str]:
        """The words that are not zero, as a genesis file in geth's format has them."""
        return {f"0x{slot:064x}": f"0x{value:064x}" for slot, value in sorted(self.slots.items()) if value}
