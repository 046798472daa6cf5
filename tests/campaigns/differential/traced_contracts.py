"""Contracts for trace tests: each performs a few operations that traces show, drawn by a seed."""

from random import Random
from typing import Any

from differential.assembly import At, Label, Part, assemble, creation_code
from differential.precompiles import PRECOMPILES, precompile_input

CONTRACTS = 50
FIRST = 0x7ACE00
"""Address of the first contract; the others follow."""
FIRST_HELPER = 0x7ACEF00

ERROR = bytes.fromhex("08c379a0")
PANIC = bytes.fromhex("4e487b71")
NOBODY = 0xDEAD00BEEF
"""An account that does not exist until it receives ether."""


def _encode_word(number: int) -> bytes:
    return number.to_bytes(32, "big")


def reason(text: str) -> bytes:
    """Return Solidity's revert data for `revert(text)`."""
    encoded = text.encode()
    return ERROR + _encode_word(32) + _encode_word(len(encoded)) + encoded.ljust((len(encoded) + 31) // 32 * 32, b"\0")


def stored(data: bytes, at: int = 0) -> list[Part]:
    """Return code that writes bytes to memory; zeros pad the last word."""
    parts: list[Part] = []
    for start in range(0, len(data), 32):
        parts += [int.from_bytes(data[start : start + 32].ljust(32, b"\0"), "big"), at + start, "MSTORE"]
    return parts


def reverting(data: bytes) -> list[Part]:
    """Return code that reverts with these bytes."""
    return [*stored(data), len(data), "PUSH0 REVERT"]


def _recursive() -> bytes:
    """Return code that calls itself as often as word 0 of its calldata specifies, nested; the innermost call logs."""
    inner, end = Label(), Label()
    return assemble(
        *("PUSH0 CALLDATALOAD DUP1", inner, "JUMPI PUSH0 PUSH0 LOG0", end, "JUMP"),
        *(At(inner), 1, "SWAP1 SUB PUSH0 MSTORE PUSH0 PUSH0", 32, "PUSH0 PUSH0 ADDRESS GAS CALL POP"),
        *(At(end), "STOP"),
    )


_LOOP = Label()

HELPERS: dict[str, bytes] = {
    "stop": assemble("STOP"),
    "echo": assemble("CALLDATASIZE PUSH0 PUSH0 CALLDATACOPY CALLDATASIZE PUSH0 RETURN"),
    "logger": assemble(
        *("CALLDATASIZE PUSH0 PUSH0 CALLDATACOPY CALLER", 7, "CALLDATASIZE PUSH0 LOG2"),
        *(1, 2, 3, 4, "PUSH0 PUSH0 LOG4 STOP"),
    ),
    "writer": assemble("PUSH0 SLOAD", 1, "ADD PUSH0 SSTORE CALLVALUE", 1, "SSTORE STOP"),
    "logs_and_reverts": assemble("PUSH0 PUSH0 LOG0", *reverting(reason("it logged in vain"))),
    "reverts_with_reason": assemble(*reverting(reason("a reason that is longer than one word of 32 bytes"))),
    "reverts_with_panic": assemble(*reverting(PANIC + _encode_word(0x11))),
    "reverts_with_own_error": assemble(*reverting(bytes.fromhex("deadbeef") + _encode_word(5))),
    "reverts_with_nothing": assemble("PUSH0 PUSH0 REVERT"),
    "reverts_with_bad_reason": assemble(*reverting(ERROR + _encode_word(32) + _encode_word(1000))),
    "reverts_with_empty_reason": assemble(*reverting(reason(""))),
    "loops": assemble(At(_LOOP), _LOOP, "JUMP"),
    "invalid": assemble("INVALID"),
    "undefined": assemble(b"\x0c"),
    "underflow": assemble("POP"),
    "overflow": assemble(b"\x5f" * 1025),
    "bad_jump": assemble(1, "JUMP"),
    "much_memory": assemble(1 << 40, "MLOAD STOP"),
    "return_data_beyond": assemble(32, "PUSH0 PUSH0 RETURNDATACOPY STOP"),
    "self_destructs": assemble("PUSH0 CALLDATALOAD SELFDESTRUCT"),
    "recursive": _recursive(),
}
"""Runtime code by name."""
HELPER_ADDRESSES = {name: FIRST_HELPER + n for n, name in enumerate(HELPERS)}


HARMLESS = "stop", "echo", "logger", "writer"
REVERTING = tuple(name for name in HELPERS if "reverts" in name)
HALTING = "loops", "invalid", "undefined", "underflow", "overflow", "bad_jump", "much_memory", "return_data_beyond"


class Scenes:
    """Draws parts of contracts. Each method is a kind of scene: code that leaves the stack unchanged."""

    def __init__(self, random: Random, below: list[int]) -> None:
        """`below` are the callable contracts: those before this one, so that calls terminate."""
        self._random = random
        self._below = below
        self._data: list[tuple[Label, bytes]] = []

    def contract(self, kinds: list[str]) -> bytes:
        """Return runtime code of these scenes, and an end."""
        parts = [part for kind in kinds for part in getattr(self, kind)()]
        parts += self._end()
        for label, data in self._data:
            parts += [At(label, data=True), data]
        return assemble(*parts)

    def call(self) -> list[Part]:
        return self._call("CALL", self._helper(HARMLESS))

    def delegate(self) -> list[Part]:
        return self._call("DELEGATECALL", self._helper(HARMLESS))

    def call_code(self) -> list[Part]:
        return self._call("CALLCODE", self._helper(HARMLESS), value=self._random.choice([0, 1]))

    def static(self) -> list[Part]:
        return self._call("STATICCALL", self._helper(("stop", "echo")))

    def static_that_writes(self) -> list[Part]:
        return self._call("STATICCALL", self._helper(("logger", "writer", "self_destructs")), gas=50_000)

    def transfer(self) -> list[Part]:
        """Pay a helper, or sometimes a new account."""
        to = self._random.choice([NOBODY + self._random.randrange(3), self._helper(HARMLESS)])
        return self._call("CALL", to, value=self._random.randrange(1, 1000))

    def transfer_of_too_much(self) -> list[Part]:
        return self._call("CALL", self._helper(HARMLESS), value=10**30)

    def revert(self) -> list[Part]:
        return self._call(self._random.choice(["CALL", "DELEGATECALL", "STATICCALL"]), self._helper(REVERTING))

    def halt(self) -> list[Part]:
        return self._call(self._random.choice(["CALL", "DELEGATECALL"]), self._helper(HALTING), gas=5_000)

    def nested(self) -> list[Part]:
        """Call an earlier generated contract, if there is one."""
        to = self._random.choice(self._below) if self._below else self._helper(HARMLESS)
        return self._call(self._random.choice(["CALL", "CALL", "DELEGATECALL", "STATICCALL"]), to, gas=400_000)

    def deep(self) -> list[Part]:
        depth = self._random.randrange(1, 20)
        return self._call("CALL", HELPER_ADDRESSES["recursive"], data=_encode_word(depth), gas=200_000)

    def self_destruct(self) -> list[Part]:
        """Self-destruct a persistent contract, by a call, or by DELEGATECALL, which destroys the caller instead."""
        kind = self._random.choice(["CALL", "CALL", "DELEGATECALL"])
        heir = _encode_word(self._random.choice([NOBODY, HELPER_ADDRESSES["stop"]]))
        return self._call(kind, HELPER_ADDRESSES["self_destructs"], data=heir)

    def precompile(self) -> list[Part]:
        address = self._random.choice(PRECOMPILES)
        kind = self._random.choice(["CALL", "STATICCALL", "DELEGATECALL"])
        gas = self._random.choice([None, 200_000, 700])
        return self._call(kind, int(address, 16), data=precompile_input(self._random, address), gas=gas)

    def log(self) -> list[Part]:
        topics = self._random.randrange(5)
        data = self._random.randbytes(self._random.randrange(70))
        return [*stored(data), *self._random.choices(range(1, 9), k=topics), len(data), 0, f"LOG{topics}"]

    def create(self) -> list[Part]:
        return self._create(self._init_code())

    def create2(self) -> list[Part]:
        """Create up to twice with the same salt, so that the second creation collides if the first succeeded."""
        made, salt = self._init_code(), self._random.randrange(1000)
        times = self._random.choice([1, 1, 2])
        return [part for _ in range(times) for part in self._create(made, salt=salt)]

    def create_that_fails(self) -> list[Part]:
        init = self._random.choice(
            [
                assemble(*reverting(reason("not made"))),
                assemble("INVALID"),
                # EIP-3541 and EIP-170.
                assemble(0xEF, 0xF8, "SHL PUSH0 MSTORE", 32, "PUSH0 RETURN"),
                assemble(0x6001, "PUSH0 RETURN"),
                assemble("PUSH0 PUSH0 LOG0 PUSH0 PUSH0 REVERT"),
            ]
        )
        return self._create(init, value=self._random.choice([0, 3]))

    def create_for_too_much(self) -> list[Part]:
        return self._create(self._init_code(), value=10**30)

    def create_and_destroy(self) -> list[Part]:
        """Create a contract that is destroyed in the same transaction (EIP-6780), and call it afterwards."""
        init = creation_code(assemble("PUSH0 PUSH0 LOG0 CALLER SELFDESTRUCT"))
        return [*self._create(init, value=2, keep=True), "PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 DUP6 GAS CALL POP POP"]

    def destroy_in_creation(self) -> list[Part]:
        return self._create(assemble("ORIGIN SELFDESTRUCT"), value=1)

    def _helper(self, names: tuple[str, ...]) -> int:
        return HELPER_ADDRESSES[self._random.choice(names)]

    def _call(
        self, kind: str, to: int, *, data: bytes | None = None, value: int = 0, gas: int | None = None
    ) -> list[Part]:
        random = self._random
        if data is None:
            data = random.randbytes(random.choice([0, 3, 4, 36, 68]))
        parts: list[Part] = [*stored(data), random.randrange(40), 0, len(data), 0]
        if kind in ("CALL", "CALLCODE"):
            parts.append(value)
        return [*parts, to, *(["GAS"] if gas is None else [gas]), kind, "POP"]

    def _create(self, init: bytes, *, value: int = 0, salt: int | None = None, keep: bool = False) -> list[Part]:
        label = Label()
        self._data.append((label, init))
        parts: list[Part] = [len(init), label, "PUSH0 CODECOPY"]
        if salt is not None:
            parts.append(salt)
        parts += [len(init), 0, value, "CREATE" if salt is None else "CREATE2"]
        return parts if keep else [*parts, "POP"]

    def _init_code(self) -> bytes:
        """Return init code, sometimes with a call or a log before the creation."""
        before = self._random.choice(
            [b"", assemble("PUSH0 PUSH0 LOG0"), assemble(*self._call("CALL", self._helper(HARMLESS)))]
        )
        runtime = assemble("CALLER PUSH0 MSTORE", 32, "PUSH0 RETURN", self._random.randbytes(4))
        start = Label()
        copy = "PUSH0 CODECOPY PUSH0 RETURN"
        return assemble(before, len(runtime), "DUP1", start, copy, At(start, data=True), runtime)

    def _end(self) -> list[Part]:
        return self._random.choice(
            [
                ["STOP"],
                ["STOP"],
                [*stored(self._random.randbytes(40)), 40, "PUSH0 RETURN"],
                [*stored(self._random.randbytes(40)), 40, "PUSH0 RETURN"],
                reverting(reason("in the end")),
                ["PUSH0 PUSH0 REVERT"],
                ["INVALID"],
                [NOBODY, "SELFDESTRUCT"],
            ]
        )


KINDS = [name for name in vars(Scenes) if not name.startswith("_") and name != "contract"]
"""Kinds of scenes."""


def contracts(seed: int) -> dict[str, bytes]:
    """Return runtime code by address. Every kind of scene is in some of them, and each has a few others."""
    made: dict[str, bytes] = {}
    below: list[int] = []
    for n in range(CONTRACTS):
        random = Random(f"traced {seed} {n}")
        kinds = [KINDS[n % len(KINDS)], *random.choices(KINDS, k=random.randint(1, 4))]
        random.shuffle(kinds)
        made[f"0x{FIRST + n:040x}"] = Scenes(random, below[-6:]).contract(kinds)
        below.append(FIRST + n)
    return made


def alloc(seed: int) -> dict[str, Any]:
    """Return the contracts and their helpers as genesis accounts in geth's format."""
    codes = contracts(seed) | {f"0x{address:040x}": HELPERS[name] for name, address in HELPER_ADDRESSES.items()}
    account = {"balance": "0xf4240", "nonce": "0x1"}
    return {address: account | {"code": "0x" + code.hex()} for address, code in codes.items()}
