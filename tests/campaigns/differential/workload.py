"""Random transactions of every type, for two nodes that should agree on their results.

    world = World(seed)
    genesis["alloc"] |= world.alloc()
    workload = Workload(world, seed, nonce=lambda address: ...)
    for kind, raw in workload.group(4): ...     # signed, each by another sender

All randomness comes from the seed.
"""

import enum
from collections.abc import Callable, Collection
from random import Random
from typing import Any

from eth_account.signers.local import LocalAccount

from differential.assembly import assemble
from differential.blobs import sign_blobs
from differential.features import ADDRESSES, FEATURES
from differential.precompiles import PRECOMPILES, precompile_input
from differential.programs import SLOTS, Programs
from live import DEV_ACCOUNTS
from live.sending import CHAIN_ID, GWEI

SENDERS = DEV_ACCOUNTS[:8]
AUTHORITIES = DEV_ACCOUNTS[8:12]
"""Accounts that only sign authorizations (EIP-7702); the last two do not exist in the development genesis."""
PROGRAMS = 16
"""Number of random programs in the genesis."""
FIRST_PROGRAM = 0xBEEF00

HISTORY = "0x0000f90827f1c53a10cb7a02335b175320002935"
"""System contract with block hashes (EIP-2935)."""
WITHDRAWALS = "0x00000961ef480eb55e80d19ad83579a64c007002"
CONSOLIDATIONS = "0x0000bbddc7ce488642fb579f8b00f3a590007251"
BEACON_ROOTS = "0x000f3df6d732807ef1319fb7b8bb8522d0beac02"

KINDS = {
    "transfer": 8,
    "to_new_account": 4,
    "program": 26,
    "creation": 12,
    "forward": 9,
    "precompile": 9,
    "churn": 7,
    "create": 6,
    "passing": 3,
    "self_destruct": 4,
    "revert": 4,
    "loop": 2,
    "environment": 3,
    "log": 7,
    "much_data": 2,
    "request": 2,
    "set_code": 9,
    "blob": 3,
}
"""Kinds of transactions, each the name of a method below, with their weights."""


def _encode_word(value: int | str) -> bytes:
    return (int(value, 16) if isinstance(value, str) else value).to_bytes(32, "big")


class Feature(enum.Enum):
    """Features that can be excluded because the compared node does not support them."""

    CHAIN_HASHES = "BLOCKHASH, PREVRANDAO and the contract of EIP-2935"
    GAS = "the gas that is left as a value"
    SYSTEM_CALLS = "contracts that the processing of a block fills and empties (EIPs 4788, 7002 and 7251)"
    NEW_AUTHORITIES = "authorizations of accounts that do not exist (EIP-7702)"
    BLOBS = "blob transactions; the first one loads the trusted setup, which takes seconds"
    NONCE_GAPS = "nonces of a sender that have a gap within a block, by an authorization or its delegate's creations"


class World:
    """Genesis accounts, and the addresses that transactions and programs use."""

    def __init__(self, seed: int, left_out: Collection[Feature] = ()) -> None:
        """`left_out` are features that transactions and programs do not use."""
        random = Random(f"world {seed}")
        self.left_out = frozenset(left_out)
        system_calls = Feature.SYSTEM_CALLS not in left_out
        chain_hashes = Feature.CHAIN_HASHES not in left_out
        self.addresses = [f"0x{FIRST_PROGRAM + n:040x}" for n in range(PROGRAMS)]
        self.addresses += [*ADDRESSES.values(), *PRECOMPILES]
        self.addresses += [WITHDRAWALS, CONSOLIDATIONS, BEACON_ROOTS] * system_calls
        self.addresses += [HISTORY] * chain_hashes
        self.addresses += [account.address.lower() for account in (*SENDERS, *AUTHORITIES)]
        self.options = {"chain_hashes": chain_hashes, "gas": Feature.GAS not in left_out}
        absent = {"request"} if Feature.SYSTEM_CALLS in left_out else set[str]()
        absent |= {"blob"} if Feature.BLOBS in left_out else set[str]()
        self.kinds = {kind: weight for kind, weight in KINDS.items() if kind not in absent}
        programs = Programs(random, self.addresses, **self.options)
        self._codes = {address: programs.runtime() for address in self.addresses[:PROGRAMS]}
        self._codes |= {ADDRESSES[name]: code for name, code in FEATURES.items()}
        self._slots = {
            address: {f"0x{slot:064x}": f"0x{programs.number() or 1:064x}" for slot in range(random.randrange(SLOTS))}
            for address in self._codes
        }

    def alloc(self) -> dict[str, Any]:
        """Return accounts to add to a genesis in geth's format."""
        made: dict[str, Any] = {
            address: {"balance": hex(10**6 + n), "nonce": "0x1", "code": "0x" + code.hex()}
            | ({"storage": self._slots[address]} if self._slots[address] else {})
            for n, (address, code) in enumerate(self._codes.items())
        }
        if Feature.NEW_AUTHORITIES in self.left_out:
            made |= {authority.address.lower(): {"balance": "0x1"} for authority in AUTHORITIES}
        return made

    def learn(self, address: str) -> None:
        """Add an address that appeared on the chain; transactions and programs use it from now on."""
        if address not in self.addresses:
            self.addresses.append(address)


class Workload:
    """An endless supply of transactions."""

    def __init__(self, world: World, seed: int, nonce: Callable[[str], int]) -> None:
        """`nonce` returns the node's next nonce of an account."""
        self._random = Random(f"workload {seed}")
        self._world = world
        self._nonce = nonce
        self._programs = Programs(self._random, world.addresses, **world.options)

    def group(self, count: int, left_out: Collection[str] = ()) -> list[tuple[str, str]]:
        """Return up to `count` transactions, each from another sender: kind and signed bytes as 0x hex.

        The addresses in `left_out` send nothing.
        """
        made, kinds = [], self._world.kinds
        for sender in self._random.sample(SENDERS, count):
            if sender.address in left_out:
                continue
            kind = self._random.choices(list(kinds), list(kinds.values()))[0]
            made.append((kind, "0x" + self._sign(sender, kind).hex()))
        return made

    def call(self) -> dict[str, Any]:
        """Return a call object, with all JSON-RPC fields except `gas`."""
        kind = self._random.choice([kind for kind in self._world.kinds if kind not in ("set_code", "blob", "loop")])
        fields = getattr(self, f"_{kind}")() | {"from": self._random.choice(SENDERS).address}
        made: dict[str, Any] = {name: fields[name] for name in ("from", "to") if name in fields}
        made |= {"value": hex(fields.get("value", 0)), "data": "0x" + fields.get("data", b"").hex()}
        made["gasPrice"] = hex(20 * GWEI)
        if self._random.random() < 0.2:
            made["accessList"] = self._access_list()
        return made

    def _sign(self, sender: LocalAccount, kind: str) -> bytes:
        random = self._random
        fields: dict[str, Any] = {"chainId": CHAIN_ID, "nonce": self._nonce(sender.address), "value": 0, "data": b""}
        fields |= getattr(self, f"_{kind}")()
        if "to" in fields:
            # eth-account accepts a text address only with its checksum.
            fields["to"] = bytes.fromhex(fields["to"][2:])
        blobs = fields.pop("blobs", None)
        if kind == "set_code":
            fields["authorizationList"] = self._authorizations(sender, fields["nonce"])
        if kind in ("set_code", "blob"):
            fields |= self._dynamic_fees() | {"type": 4}
            fields["accessList"] = self._access_list() if random.random() < 0.3 else []
        else:
            fields |= self._fees_of_any_type()
        if "gas" not in fields:
            fields["gas"] = self._least_gas(fields) + random.choice([0, 100, 5_000, *[random.randrange(600_000)] * 7])
        if blobs is not None:
            return sign_blobs(sender, fields | {"maxFeePerBlobGas": GWEI}, blobs)
        return bytes(sender.sign_transaction(fields).raw_transaction)

    def _dynamic_fees(self) -> dict[str, Any]:
        return {"maxFeePerGas": 20 * GWEI, "maxPriorityFeePerGas": self._random.randrange(3 * GWEI)}

    def _fees_of_any_type(self) -> dict[str, Any]:
        random = self._random
        kind = random.random()
        if kind < 0.25:
            return {"gasPrice": random.randrange(10 * GWEI, 20 * GWEI)}
        access_list = self._access_list() if random.random() < 0.5 else []
        if kind < 0.5:
            return {"type": 1, "gasPrice": random.randrange(10 * GWEI, 20 * GWEI), "accessList": access_list}
        return {"type": 2, "accessList": access_list} | self._dynamic_fees()

    def _access_list(self) -> list[dict[str, Any]]:
        """Return an access list, sometimes with duplicate entries."""
        random = self._random
        return [
            {
                "address": self._address(),
                "storageKeys": [f"0x{random.randrange(SLOTS):064x}" for _ in range(random.randrange(4))],
            }
            for _ in range(random.randint(1, 3))
        ]

    def _least_gas(self, fields: dict[str, Any]) -> int:
        """Return enough gas for the transaction to be accepted (EIPs 2028, 2930, 3860, 7623, 7702)."""
        gas = 21_000 + 40 * len(fields["data"])
        if "to" not in fields:
            gas += 32_000 + 2 * (len(fields["data"]) // 32 + 1)
        for entry in fields.get("accessList", ()):
            gas += 2_400 + 1_900 * len(entry["storageKeys"])
        return gas + 25_000 * len(fields.get("authorizationList", ()))

    def _address(self) -> str:
        return f"0x{self._programs.target():040x}"

    def _authorizations(self, sender: LocalAccount, nonce: int) -> list[Any]:
        """Return one to three authorizations, mostly valid: new, changed or cleared delegations, also of the sender."""
        random = self._random
        made = []
        for _ in range(random.randint(1, 3)):
            signer = sender if random.random() < 0.2 else random.choice(AUTHORITIES)
            used = nonce + 1 if signer is sender else self._nonce(signer.address)
            if random.random() < 0.15:
                used += random.choice([1, 2])
            target = f"0x{0:040x}" if random.random() < 0.15 else self._address()
            chain = random.choice([0, CHAIN_ID, CHAIN_ID, CHAIN_ID, 1])
            made.append(signer.sign_authorization({"chainId": chain, "address": target, "nonce": used}))
        return made

    # Each method below returns the fields of one kind, with `gas` if it matters.

    def _transfer(self) -> dict[str, Any]:
        return {"to": self._random.choice(SENDERS).address, "value": self._random.randrange(10**18)}

    def _to_new_account(self) -> dict[str, Any]:
        return {"to": f"0x{self._random.getrandbits(160):040x}", "value": self._random.randrange(10**9)}

    def _program(self) -> dict[str, Any]:
        random = self._random
        data = random.randbytes(random.choice([0, 4, 32, 68]))
        return {"to": self._address(), "data": data, "value": random.choice([0, 0, 0, 1, 10**6])}

    def _creation(self) -> dict[str, Any]:
        return {"data": self._programs.creation(), "value": self._random.choice([0, 0, 1, 10**6])}

    def _forward(self) -> dict[str, Any]:
        random = self._random
        name = random.choice([name for name in ADDRESSES if name.startswith("forward")])
        gas = random.choice([0, 2_300, 50_000, 10**9])
        data = _encode_word(self._address()) + _encode_word(gas) + random.randbytes(random.choice([0, 32, 64]))
        return {"to": ADDRESSES[name], "data": data, "value": random.choice([0, 0, 7])}

    def _precompile(self) -> dict[str, Any]:
        address = self._random.choice(PRECOMPILES)
        data = precompile_input(self._random, address)
        if self._random.random() < 0.2:
            return {"to": address, "data": data, "gas": self._least_gas({"data": data, "to": address}) + 300_000}
        data = _encode_word(address) + _encode_word(10**9) + data
        gas = self._least_gas({"data": data, "to": address}) + 400_000
        return {"to": ADDRESSES["forward_call"], "data": data, "gas": gas}

    def _churn(self) -> dict[str, Any]:
        random = self._random
        words = random.randint(1, 20), random.choice([0, random.getrandbits(200) + 1]), random.randrange(40)
        return {"to": ADDRESSES["churner"], "data": b"".join(map(_encode_word, words))}

    def _create(self) -> dict[str, Any]:
        to = ADDRESSES[self._random.choice(["creator", "creator2"])]
        # A short one repeats, so that CREATE2 collides with an existing address.
        init = assemble("PUSH0 PUSH0 RETURN") if self._random.random() < 0.2 else self._programs.creation(1)
        return {"to": to, "data": init, "value": self._random.choice([0, 3])}

    def _passing(self) -> dict[str, Any]:
        return {"to": ADDRESSES["passing"], "value": self._random.choice([0, 11])}

    def _self_destruct(self) -> dict[str, Any]:
        return {"to": ADDRESSES["self_destructor"], "data": _encode_word(self._address()), "value": 5}

    def _revert(self) -> dict[str, Any]:
        # Error(string) in Solidity's encoding, half of the time.
        reason = bytes.fromhex("08c379a0") + _encode_word(32) + _encode_word(2) + b"no".ljust(32, b"\0")
        data = reason if self._random.random() < 0.5 else self._random.randbytes(40)
        return {"to": ADDRESSES["reverter"], "data": data, "value": 1}

    def _loop(self) -> dict[str, Any]:
        return {"to": ADDRESSES["looper"], "gas": 60_000 + self._random.randrange(40_000)}

    def _environment(self) -> dict[str, Any]:
        return {"to": ADDRESSES["environment"], "value": 1, "gas": 500_000}

    def _log(self) -> dict[str, Any]:
        return {"to": ADDRESSES["logger"], "data": self._random.randbytes(self._random.randrange(200))}

    def _much_data(self) -> dict[str, Any]:
        """Return a transaction whose calldata floor exceeds its gas used (EIP-7623)."""
        return {"to": self._random.choice(SENDERS).address, "data": self._random.randbytes(1_000)}

    def _request(self) -> dict[str, Any]:
        to, length = self._random.choice([(WITHDRAWALS, 56), (CONSOLIDATIONS, 96)])
        return {"to": to, "data": self._random.randbytes(length), "value": 10**6, "gas": 400_000}

    def _set_code(self) -> dict[str, Any]:
        random = self._random
        to = random.choice(AUTHORITIES).address if random.random() < 0.7 else self._address()
        return {"to": to, "data": random.randbytes(random.choice([0, 32])), "value": random.choice([0, 2])}

    def _blob(self) -> dict[str, Any]:
        random = self._random
        to = ADDRESSES["environment"] if random.random() < 0.5 else self._address()
        return {"to": to, "blobs": [random.randrange(8) for _ in range(random.randint(1, 2))]}
