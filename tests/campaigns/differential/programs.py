"""Random contracts: code that mostly completes, covers many opcodes, and sometimes fails in every possible manner."""

from collections.abc import Sequence
from random import Random

from benches.opcodes.assembler import OPCODES

from differential.assembly import At, Label, Part, assemble, push

SLOTS = 8
"""Number of storage slots that programs use."""

_PLAIN = """ADDRESS ORIGIN CALLER CALLVALUE CALLDATASIZE CODESIZE GASPRICE COINBASE TIMESTAMP NUMBER GASLIMIT CHAINID
SELFBALANCE BASEFEE BLOBBASEFEE MSIZE PC RETURNDATASIZE""".split()
_UNARY = "ISZERO NOT CLZ CALLDATALOAD BLOBHASH".split()
_BINARY = """ADD MUL SUB DIV SDIV MOD SMOD EXP SIGNEXTEND LT GT SLT SGT EQ AND OR XOR BYTE SHL SHR SAR""".split()
_TERNARY = "ADDMOD MULMOD".split()
_OF_ADDRESS = "BALANCE EXTCODESIZE EXTCODEHASH".split()
_CALLS = "CALL CALLCODE DELEGATECALL STATICCALL".split()
_UNDEFINED = sorted(set(range(256)) - set(OPCODES.values()) - set(range(0x60, 0x80)))


class Programs:
    """Generates random programs, deterministic for the same randomness.

    They call, delegate to and pay the addresses in `targets`, which may grow. Features on which the compared nodes
    cannot agree are optional: `chain_hashes` allows BLOCKHASH and PREVRANDAO, `gas` allows GAS as a value, on which the
    gas that a call needs would then depend.
    """

    def __init__(self, random: Random, targets: Sequence[str], *, chain_hashes: bool, gas: bool) -> None:
        self._random = random
        self._targets = targets
        self._plain = _PLAIN + ["PREVRANDAO"] * chain_hashes + ["GAS"] * gas
        self._chain_hashes = chain_hashes

    def runtime(self, depth: int = 2) -> bytes:
        """Return runtime code; programs that it creates nest to `depth`."""
        parts: list[Part] = []
        inner: list[tuple[Label, bytes]] = []
        for _ in range(self._random.randint(2, 9)):
            parts += self._statement(inner, depth)
        parts += self._end()
        for label, code in inner:
            parts += [At(label, data=True), code]
        return assemble(*parts)

    def creation(self, depth: int = 2) -> bytes:
        """Return init code: some statements, then the code to deploy, which may be rejected."""
        random = self._random
        inner: list[tuple[Label, bytes]] = []
        parts: list[Part] = []
        for _ in range(random.randint(0, 2)):
            parts += self._statement(inner, depth)
        kind = random.random()
        if kind < 0.06:
            # EIP-3541 rejects code that begins with 0xEF.
            parts += [0xEF, 0xF8, "SHL PUSH0 MSTORE", 32, "PUSH0 RETURN"]
        elif kind < 0.12:
            parts += self._failure()
        elif kind < 0.16:
            # EIP-170: longer than the maximum code size.
            parts += [0x6001, "PUSH0 RETURN"]
        start, code = Label(), self.runtime(depth - 1)
        parts += [len(code), "DUP1", start, "PUSH0 CODECOPY PUSH0 RETURN"]
        for label, data in [*inner, (start, code)]:
            parts += [At(label, data=True), data]
        return assemble(*parts)

    def number(self) -> int:
        """Return a number of at most 256 bits, often an edge case."""
        random = self._random
        kind = random.random()
        if kind < 0.5:
            return random.randrange(SLOTS)
        if kind < 0.7:
            return random.getrandbits(random.randrange(1, 257))
        if kind < 0.9:
            power = 1 << random.randrange(256)
            return power - random.randrange(2)
        return (1 << 256) - 1 - random.randrange(3)

    def target(self) -> int:
        """Return an address to call, as a number."""
        if self._random.random() < 0.08:
            return self._random.getrandbits(160)
        return int(self._random.choice(self._targets), 16)

    def _expression(self, depth: int) -> list[Part]:
        """Return code that leaves one word on the stack."""
        random, inner = self._random, depth - 1
        kind = random.random() if depth > 0 else random.random() * 0.4
        if kind < 0.2:
            return [self.number()]
        if kind < 0.4:
            return [random.choice(self._plain)]
        if kind < 0.48:
            return [*self._expression(inner), random.choice(_UNARY)]
        if kind < 0.55:
            return [random.randrange(SLOTS), random.choice(["SLOAD", "TLOAD"])]
        if kind < 0.6:
            return [random.randrange(0x200), "MLOAD"]
        if kind < 0.66:
            return [self.target(), random.choice(_OF_ADDRESS)]
        if kind < 0.7:
            return [random.randrange(0x100), random.randrange(0x200), "KECCAK256"]
        if kind < 0.74 and self._chain_hashes:
            return [random.randrange(4), "NUMBER SUB BLOCKHASH"]
        if kind < 0.94:
            return [*self._expression(inner), *self._expression(inner), random.choice(_BINARY)]
        return [
            *(part for _ in range(3) for part in self._expression(inner)),
            random.choice(_TERNARY),
        ]

    def _statement(self, inner: list[tuple[Label, bytes]], depth: int) -> list[Part]:
        """Return code that leaves the stack unchanged; contracts that it creates are appended to `inner`."""
        random = self._random
        kind = random.random()
        if kind < 0.22:
            # The value must be below the slot on the stack.
            value: list[Part] = [0] if random.random() < 0.25 else self._expression(3)
            return [*value, random.randrange(SLOTS), "SSTORE"]
        if kind < 0.27:
            return [*self._expression(2), random.randrange(SLOTS), "TSTORE"]
        if kind < 0.37:
            return [*self._expression(3), random.randrange(0x200), random.choice(["MSTORE", "MSTORE8"])]
        if kind < 0.44:
            return self._copy()
        if kind < 0.56:
            return self._log()
        if kind < 0.76:
            return [*self._call(), *self._store_or_drop()]
        if kind < 0.83 and depth > 0:
            return [*self._create(inner, depth), *self._store_or_drop()]
        if kind < 0.9:
            return self._branch(inner, depth)
        if kind < 0.96:
            return self._loop(inner, depth)
        return self._branch(inner, depth, self._failure() if random.random() < 0.5 else self._end())

    def _store_or_drop(self) -> list[Part]:
        """Return code that stores or drops a result."""
        if self._random.random() < 0.5:
            return ["POP"]
        return [self._random.randrange(SLOTS), "SSTORE"]

    def _copy(self) -> list[Part]:
        random = self._random
        to, start, size = random.randrange(0x100), random.randrange(0x60), random.randrange(0x80)
        kind = random.random()
        if kind < 0.6:
            return [size, start, to, random.choice(["CALLDATACOPY", "CODECOPY", "MCOPY"])]
        if kind < 0.8:
            return [size, start, to, self.target(), "EXTCODECOPY"]
        if kind < 0.95:
            return ["RETURNDATASIZE PUSH0", to, "RETURNDATACOPY"]
        # Fails if less was returned.
        return [size, start, to, "RETURNDATACOPY"]

    def _log(self) -> list[Part]:
        random = self._random
        topics = random.randrange(5)
        parts = [part for _ in range(topics) for part in self._expression(1)]
        return [*parts, random.randrange(0x80), random.randrange(0x100), f"LOG{topics}"]

    def _call(self) -> list[Part]:
        random = self._random
        kind = random.choice(_CALLS)
        parts: list[Part] = [random.randrange(0x60), random.randrange(0x100), random.randrange(0xA0), 0]
        if kind in ("CALL", "CALLCODE"):
            parts.append(random.choice([0, 0, 1, random.randrange(10**6), self.number()]))
        parts.append(self.target())
        parts += random.choice([["GAS"], ["GAS"], ["GAS"], [0], [2300], [30_000], [random.randrange(100_000)]])
        return [*parts, kind]

    def _create(self, inner: list[tuple[Label, bytes]], depth: int) -> list[Part]:
        """Return CREATE or CREATE2 of a program behind the code; a salt repeats, so that addresses collide."""
        random = self._random
        label, code = Label(), self.creation(depth - 1)
        inner.append((label, code))
        value = random.choice([0, 0, 0, 1, 10**30])
        copy: list[Part] = [len(code), label, "PUSH0 CODECOPY"]
        if random.random() < 0.5:
            return [*copy, len(code), 0, value, "CREATE"]
        return [*copy, random.randrange(3), len(code), 0, value, "CREATE2"]

    def _branch(self, inner: list[tuple[Label, bytes]], depth: int, body: list[Part] | None = None) -> list[Part]:
        label = Label()
        condition = self._expression(2)
        return [*condition, label, "JUMPI", *(body or self._statement(inner, depth - 1)), At(label)]

    def _loop(self, inner: list[tuple[Label, bytes]], depth: int) -> list[Part]:
        label = Label()
        body = self._statement(inner, depth - 1)
        return [self._random.randint(1, 5), At(label), *body, 1, "SWAP1 SUB DUP1", label, "JUMPI POP"]

    def _end(self) -> list[Part]:
        """Return a regular end."""
        random = self._random
        kind = random.random()
        if kind < 0.55:
            return ["STOP"]
        if kind < 0.9:
            return [random.randrange(0x60), random.randrange(0x100), "RETURN"]
        return [self.target(), "SELFDESTRUCT"]

    def _failure(self) -> list[Part]:
        """Return an end that reverts everything; the last ones use all gas."""
        random = self._random
        return random.choice(
            [
                [random.randrange(0x60), random.randrange(0x100), "REVERT"],
                ["PUSH0 PUSH0 REVERT"],
                ["INVALID"],
                [bytes([random.choice(_UNDEFINED)])],
                ["POP POP POP POP"],
                [1, "JUMP"],
                # Memory expansion beyond any gas limit.
                [1 << 40, "MLOAD POP"],
                [b"".join(push(1) for _ in range(1025))],
            ]
        )
