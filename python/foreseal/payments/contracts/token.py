"""Initial state of the token, and its deployment by a transaction or in the genesis."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from foreseal.codec import keccak
from foreseal.payments.contracts.artifact import Artifact, load
from foreseal.payments.contracts.storage import Storage, address_bytes, encode_slot, short_string

CONTRACT = "PaymentToken"
BLACKLISTED = 1 << 255
"""Blacklist bit in an account's balance word."""

_DOMAIN_TYPE = b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
# Version that FiatToken's `initialize` functions reach: V2_2.
_INITIALIZED = 3


@dataclass(frozen=True, slots=True)
class TokenSetup:
    """Initial state of a token. Addresses are in hexadecimal, amounts in the token's smallest unit."""

    owner: str
    """Account that assigns the other roles and controls the holder policies."""
    master_minter: str
    pauser: str
    blacklister: str
    name: str = "USD Coin"
    """Name of the token and of its signing domain (EIP-712)."""
    symbol: str = "USDC"
    currency: str = "USD"
    decimals: int = 6
    version: str = "2"
    """Version of the signing domain (EIP-712), at most 31 bytes."""

    def creation(self) -> bytes:
        """Return the data of a transaction that creates an initialized token. Needs the package eth-abi."""
        roles = (self.master_minter, self.pauser, self.blacklister, self.owner)
        setup = (self.name, self.symbol, self.currency, self.decimals, *roles)
        return artifact().creation(setup, self.version)


@dataclass(frozen=True, slots=True)
class TokenGenesis:
    """A token that exists from the genesis of a chain."""

    setup: TokenSetup
    balances: Mapping[str, int] = field(default_factory=dict)
    """Balances by address, in the token's smallest unit."""
    minters: Mapping[str, int] = field(default_factory=dict)
    """Mint allowances by minter's address, in the token's smallest unit."""
    rescuer: str | None = None

    def alloc(self, address: str, chain_id: int) -> dict[str, object]:
        """Return the token's entry at `address` in the `alloc` of a genesis file in geth's format.

        Raises ValueError for an invalid address, a balance that is too large, or an account that is named twice.
        """
        setup = self.setup
        version = encode_slot(keccak(setup.version.encode()))
        code = artifact().code(_version=short_string(setup.version), _versionHash=version)
        storage = self._storage(address)
        separator = domain_separator(setup.name, setup.version, chain_id, address)
        storage.set("_formerDomainSeparator", int.from_bytes(separator, "big"))
        return {"balance": "0x0", "nonce": "0x1", "code": "0x" + code.hex(), "storage": storage.alloc()}

    def _storage(self, address: str) -> Storage:
        setup, storage = self.setup, Storage(artifact())
        for label, text in (("name", setup.name), ("symbol", setup.symbol), ("currency", setup.currency)):
            storage.set_string(label, text)
        roles = {"_owner": setup.owner, "masterMinter": setup.master_minter, "pauser": setup.pauser}
        for label, role in (roles | {"blacklister": setup.blacklister, "_rescuer": self.rescuer}).items():
            if role is not None:
                storage.set(label, role)
        storage.set("decimals", setup.decimals)
        storage.set("_initialized", 1)
        storage.set("_initializedVersion", _INITIALIZED)
        for minter, allowed in _by_account(self.minters).items():
            storage.set_entry("_minters", minter, value=1)
            storage.set_entry("_minterAllowances", minter, value=allowed)
        balances = _by_account(self.balances)
        if address_bytes(address) in balances:
            raise ValueError("the token must not own tokens: it blacklists itself")
        for account, balance in balances.items():
            if not 0 <= balance < BLACKLISTED:
                raise ValueError(f"0x{account.hex()}: a balance has at most 255 bits")
            storage.set_entry("_balanceAndBlacklist", account, value=balance)
        storage.set("_totalSupply", sum(balances.values()))
        storage.set_entry("_balanceAndBlacklist", address, value=BLACKLISTED)
        return storage


def artifact() -> Artifact:
    """Return the compiled token."""
    return load(CONTRACT)


def domain_separator(name: str, version: str, chain_id: int, token: str) -> bytes:
    """Return the hash of a token's signing domain (EIP-712)."""
    hashes = keccak(_DOMAIN_TYPE) + keccak(name.encode()) + keccak(version.encode())
    return keccak(hashes + encode_slot(chain_id) + encode_slot(token))


def _by_account(amounts: Mapping[str, int]) -> dict[bytes, int]:
    """Return amounts by the 20 bytes of an address. The same address can have several spellings in hexadecimal."""
    balances = {address_bytes(account): amount for account, amount in amounts.items()}
    if len(balances) < len(amounts):
        raise ValueError("an account occurs twice")
    return balances
