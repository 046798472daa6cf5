"""Storage in solc's layout: slots of variables and mappings, and encoding of values."""

from foreseal.codec import keccak
from foreseal.payments.contracts.artifact import Artifact

SLOT_SIZE = 32
ADDRESS = 20


def address_bytes(address: str) -> bytes:
    """Return the 20 bytes of an address in hexadecimal. Raises ValueError."""
    decoded = bytes.fromhex(address.removeprefix("0x"))
    if len(decoded) != ADDRESS:
        raise ValueError(f"an address must have {ADDRESS} bytes, {address!r} has {len(decoded)}")
    return decoded


def encode_slot(value: int | str | bytes) -> bytes:
    """Encode a number, a hexadecimal address or up to 32 bytes as a 32-byte word, padded on the left."""
    if isinstance(value, int):
        return value.to_bytes(SLOT_SIZE, "big")
    return (address_bytes(value) if isinstance(value, str) else value).rjust(SLOT_SIZE, b"\0")


def mapping_slot(slot: int, *keys: int | str | bytes) -> int:
    """Return the slot of a value in a mapping at `slot`. The keys are in order from the outermost."""
    for key in keys:
        slot = int.from_bytes(keccak(encode_slot(key) + encode_slot(slot)), "big")
    return slot


def short_string(text: str) -> bytes:
    """Encode a string of at most 31 bytes as OpenZeppelin's ShortStrings does. Raises ValueError."""
    encoded = text.encode()
    if len(encoded) >= SLOT_SIZE:
        raise ValueError(f"{text!r} has more than {SLOT_SIZE - 1} bytes")
    return encoded.ljust(SLOT_SIZE - 1, b"\0") + bytes([len(encoded)])


class Storage:
    """Initial storage of a contract, built before the contract exists."""

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact
        self.slots: dict[int, int] = {}
        """Words by slot."""

    def set(self, label: str, value: int | str) -> None:
        """Set a variable to a number or an address.

        Other variables in the slot keep their values. Raises ValueError if the value is too wide.
        """
        variable = self.artifact.variable(label)
        number = int.from_bytes(encode_slot(value), "big")
        if number >> 8 * variable.size:
            raise ValueError(f"{label} has {variable.size} bytes, too few for {value!r}")
        mask = ((1 << 8 * variable.size) - 1) << 8 * variable.offset
        other_bits = self.slots.get(variable.slot, 0) & ~mask
        self.slots[variable.slot] = other_bits | number << 8 * variable.offset

    def set_string(self, label: str, text: str) -> None:
        """Set a string variable: within its slot up to 31 bytes, beyond that at the slot's hash."""
        slot, encoded = self.artifact.variable(label).slot, text.encode()
        if len(encoded) < SLOT_SIZE:
            self.slots[slot] = int.from_bytes(encoded.ljust(SLOT_SIZE, b"\0"), "big") | 2 * len(encoded)
            return
        self.slots[slot] = 2 * len(encoded) + 1
        begin = int.from_bytes(keccak(encode_slot(slot)), "big")
        for index in range(0, len(encoded), SLOT_SIZE):
            chunk = encoded[index : index + SLOT_SIZE].ljust(SLOT_SIZE, b"\0")
            self.slots[begin + index // SLOT_SIZE] = int.from_bytes(chunk, "big")

    def set_entry(self, label: str, *keys: int | str | bytes, value: int) -> None:
        """Set the value of a mapping. The keys are in order from the outermost."""
        self.slots[mapping_slot(self.artifact.variable(label).slot, *keys)] = value

    def alloc(self) -> dict[str, str]:
        """Return the nonzero words in the genesis format of geth."""
        return {f"0x{slot:064x}": f"0x{value:064x}" for slot, value in sorted(self.slots.items()) if value}
