"""A chain with the token in its genesis, and accounts."""

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from foreseal._core import newest_genesis
from foreseal.payments.contracts import TokenGenesis, addresses, load, token_alloc, x402_alloc
from foreseal.testing import Chain, ChainSettings, TestAccount
from payments.contracts.channels import Channel, errors
from payments.contracts.onchain import OnChain
from payments.contracts.people import CHAIN_ID, DOLLAR, TOKEN, People, setup_of
from payments.contracts.signing import Domain


@pytest.fixture(scope="session")
def people() -> People:
    with Chain(ChainSettings(accounts=10)) as chain:
        return People(*(TestAccount(account.address.lower(), account.key) for account in chain.accounts))


@pytest.fixture(scope="session")
def token_genesis(people: People) -> TokenGenesis:
    return TokenGenesis(
        setup_of(people),
        balances={people.buyer.address: 1000 * DOLLAR, people.other.address: 1000 * DOLLAR},
        minters={people.minter.address: 10**12},
        rescuer=people.rescuer.address,
    )


@pytest.fixture(scope="session")
def payment_session(
    people: People, token_genesis: TokenGenesis, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Chain]:
    """Provide the one chain of these tests; its changes persist."""
    genesis = orjson.loads(newest_genesis(CHAIN_ID))
    genesis["alloc"] |= {account.address: {"balance": hex(10**21)} for account in vars(people).values()}
    genesis["alloc"] |= token_alloc(token_genesis, CHAIN_ID) | x402_alloc()
    path: Path = tmp_path_factory.mktemp("payments") / "genesis.json"
    path.write_bytes(orjson.dumps(genesis))
    with Chain(ChainSettings(genesis=path, chain_id=CHAIN_ID)) as chain:
        chain.rpc("anvil_autoImpersonateAccount", True)
        yield chain


@pytest.fixture
def chain(payment_session: Chain) -> Iterator[Chain]:
    """Provide that chain; changes by the test are reverted when it ends."""
    with payment_session.rollback() as chain:
        yield chain


@pytest.fixture
def token(chain: Chain) -> OnChain:
    """Return the token at the address that x402 clients use."""
    return OnChain(chain, TOKEN, load("PaymentToken").abi)


@pytest.fixture(scope="session")
def domain() -> Domain:
    """Return the token's signing domain."""
    return Domain("USDC", "2", CHAIN_ID, TOKEN)


@pytest.fixture
def channel(token: OnChain, domain: Domain, people: People) -> Channel:
    passed = [entry for name in ("Permit2", "DepositCollector") for entry in errors(name)]
    contract = OnChain(token.chain, addresses.BATCH_SETTLEMENT, [*load("BatchSettlement").abi, *passed])
    return Channel(contract, token, domain, people)
