"""Random call objects with overrides, for two nodes that should agree on calls, estimates, simulations and traces.

All randomness comes from the given generator.
"""

from random import Random
from typing import Any

from differential.blobs import versioned_hash
from differential.features import ADDRESSES
from differential.programs import SLOTS, Programs
from differential.workload import AUTHORITIES, SENDERS, Workload, World
from live.sending import CHAIN_ID, GWEI

Fields = dict[str, Any]

POOR = f"0x{0xB00B:040x}"
"""An account that does not exist."""


class CallObjects:
    """An endless supply of calls to the accounts of a world."""

    def __init__(self, world: World, random: Random) -> None:
        self._random = random
        self._world = world
        self._programs = Programs(random, world.addresses, **world.options)
        self._workload = Workload(world, random.getrandbits(64), lambda _: 0)

    def call(self) -> Fields:
        """Return a call object. Some cannot be executed: without funds, below the base fee, with too little gas."""
        random = self._random
        made = self._workload.call()
        del made["gasPrice"]
        if random.random() < 0.15:
            del made["from"]
        elif random.random() < 0.1:
            made["from"] = random.choice([POOR, self._address(), AUTHORITIES[-1].address])
        if random.random() < 0.1:
            made["value"] = hex(random.choice([10**18, 10**30, 1]))
        if random.random() < 0.3:
            made["input"] = made.pop("data")
        if random.random() < 0.04:
            made["nonce"] = hex(random.randrange(3))
        made |= self._gas() | self._fees() | self._blobs_or_authorizations(made)
        return made

    def state_overrides(self) -> Fields:
        """Return overrides of a few accounts."""
        return {self._address(): self._override() for _ in range(self._random.randint(1, 3))}

    def block_overrides(self) -> Fields:
        """Return some fields of another block, in the words of `eth_call`."""
        random = self._random
        every = {
            "number": hex(random.choice([1, 2, 1000])),
            "time": hex(random.choice([1_800_000_000, 2_000_000_000])),
            "gasLimit": hex(random.choice([100_000, 8_000_000, 50_000_000])),
            "feeRecipient": self._address(),
            "prevRandao": f"0x{random.getrandbits(256):064x}",
            "baseFeePerGas": hex(random.choice([0, 7, 3 * GWEI])),
            "blobBaseFee": hex(random.choice([1, GWEI])),
        }
        return {name: every[name] for name in random.sample(sorted(every), random.randint(1, 4))}

    def _gas(self) -> Fields:
        random = self._random
        kind = random.random()
        if kind < 0.5:
            return {}
        if kind < 0.54:
            return {"gas": hex(random.choice([0, 1, 20_999, 21_000, 25_000]))}
        return {"gas": hex(random.choice([60_000, 300_000, 2_000_000, 16_000_000, random.randrange(21_000, 500_000)]))}

    def _fees(self) -> Fields:
        random = self._random
        kind = random.random()
        if kind < 0.5:
            return {}
        if kind < 0.75:
            return {"gasPrice": hex(random.choices([0, 1, GWEI, 20 * GWEI, 10**22], [4, 1, 4, 8, 1])[0])}
        high = random.choices([0, 1, 2 * GWEI, 20 * GWEI, 10**22], [2, 1, 8, 8, 1])[0]
        tip = min(high, random.choice([0, 1, GWEI, 3 * GWEI])) if random.random() < 0.95 else high + 1
        fees = {"maxFeePerGas": hex(high), "maxPriorityFeePerGas": hex(tip)}
        if random.random() < 0.1:
            del fees[random.choice(sorted(fees))]
        return fees

    def _blobs_or_authorizations(self, call: Fields) -> Fields:
        random, made = self._random, Fields()
        kind = random.random()
        if kind < 0.12 and "to" in call:
            made["authorizationList"] = [self._authorization() for _ in range(random.randint(1, 2))]
        elif kind < 0.18 and "to" in call:
            numbers = [random.randrange(8) for _ in range(random.randint(1, 2))]
            made["blobVersionedHashes"] = ["0x" + versioned_hash(number).hex() for number in numbers]
            if random.random() < 0.7:
                made["maxFeePerBlobGas"] = hex(random.choice([1, GWEI]))
        return made

    def _authorization(self) -> Fields:
        random = self._random
        signed: Any = random.choice(AUTHORITIES).sign_authorization(
            {
                "chainId": random.choice([0, CHAIN_ID, CHAIN_ID, 1]),
                "address": random.choice([f"0x{0:040x}", self._address(), self._address()]),
                "nonce": random.choice([0, 0, 0, 1]),
            }
        )
        return {
            "chainId": hex(signed.chain_id),
            "address": "0x" + signed.address.hex().removeprefix("0x"),
            "nonce": hex(signed.nonce),
            "yParity": hex(signed.y_parity),
            "r": hex(signed.r),
            "s": hex(signed.s),
        }

    def _override(self) -> Fields:
        random, made = self._random, Fields()
        if random.random() < 0.4:
            made["balance"] = hex(random.choice([0, 1, 10**6, 10**24]))
        if random.random() < 0.3:
            made["nonce"] = hex(random.choice([0, 1, 5, 2**32]))
        if random.random() < 0.5:
            made["code"] = "0x" + self._code().hex()
        kind = random.random()
        if kind < 0.4:
            slots = {f"0x{random.randrange(SLOTS):064x}": f"0x{self._programs.number():064x}" for _ in range(2)}
            made["state" if kind < 0.2 else "stateDiff"] = slots
        return made

    def _code(self) -> bytes:
        kind = self._random.random()
        if kind < 0.1:
            return b""
        if kind < 0.25:  # a delegation (EIP-7702)
            return b"\xef\x01\x00" + bytes.fromhex(self._address()[2:])
        return self._programs.runtime()

    def _address(self) -> str:
        random = self._random
        if random.random() < 0.2:
            return random.choice(SENDERS).address.lower()
        if random.random() < 0.3:
            return random.choice(sorted(ADDRESSES.values()))
        return f"0x{self._programs.target():040x}"
