"""The table of ordinary gas: what each operation costs with payers that have a key, in its dearest ordinary case."""

from collections.abc import Iterator

import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak
from x402.mechanisms.evm import constants as x402
from x402.mechanisms.evm.batch_settlement.abi import BATCH_SETTLEMENT_ABI

from foreseal.payments.contracts import addresses, load
from foreseal.payments.transactions.ordinary_gas import ORDINARY_GAS, ordinary_gas
from payments.contracts.channels import Channel, batch_signature, permit2_deposit
from payments.contracts.onchain import OnChain, Receipt, deploy, signature_of
from payments.contracts.people import CHAIN_ID, TOKEN
from payments.contracts.signing import Authorization, sign_digest, typed_digest

DEADLINE = 2_000_000_000
ONES = b"\x11" * 32
RECIPIENT = "0x" + "fe" * 20
"""An account without tokens."""
CONTRACTS = ("PaymentToken", "Checkout", "ExactPermit2Proxy", "UptoPermit2Proxy", "BatchSettlement")
CLAIMED = (1, 2, 30)
"""Numbers of channels in a claim."""


class Bench:
    """A chain that executes each operation once, from the same state."""

    def __init__(self, channel: Channel) -> None:
        self.channel, self.token, self.domain, self.people = channel, channel.token, channel.domain, channel.people
        self.buyer, self.anybody = self.people.buyer.address, self.people.stranger.address

    def authorizations(self) -> Iterator[Receipt]:
        shop = self.people.merchant.address
        for name, payee, sender in (
            ("receiveWithAuthorization", shop, shop),
            ("transferWithAuthorization", RECIPIENT, self.anybody),
        ):
            terms = Authorization(self.buyer, payee, 10_000, 0, DEADLINE, ONES)
            signed = terms.signed(self.domain, self.people.buyer.key, name[0].upper() + name[1:])
            for signature in ((signed.v, signed.r, signed.s), (signed.packed,)):
                with self.token.chain.rollback():
                    yield self.token.send(sender, name, *terms.terms, *signature)

    def cancellations(self) -> Iterator[Receipt]:
        signed = self.domain.sign(self.people.buyer.key, "CancelAuthorization", authorizer=self.buyer, nonce=ONES)
        for signature in (tuple(signed), (signed.packed,)):
            with self.token.chain.rollback():
                yield self.token.send(self.anybody, "cancelAuthorization", self.buyer, ONES, *signature)

    def checkout(self) -> Iterator[Receipt]:
        shop, artifact = self.people.merchant.address, load("Checkout")
        with self.token.chain.rollback():
            contract = deploy(self.token.chain, self.anybody, artifact.creation(TOKEN, shop), artifact.abi)
            permit = self.permit(contract.address)
            arguments = (ONES, self.buyer, 7_000, 10_000, DEADLINE, *permit)
            yield contract.send(shop, "capture", *arguments)

    def permit(self, spender: str) -> tuple[int, bytes, bytes]:
        terms = {"owner": self.buyer, "spender": spender, "value": 10_000, "nonce": 0, "deadline": DEADLINE}
        return tuple(self.domain.sign(self.people.buyer.key, "Permit", **terms))

    def proxies(self) -> Iterator[Receipt]:
        nonce = int.from_bytes(ONES, "big")
        domain = {"name": "Permit2", "chainId": CHAIN_ID, "verifyingContract": addresses.PERMIT2}
        for contract, address, fields, witness, amount in (
            ("ExactPermit2Proxy", addresses.EXACT_PERMIT2_PROXY, "address to", (RECIPIENT, 0), ()),
            (
                "UptoPermit2Proxy",
                addresses.UPTO_PERMIT2_PROXY,
                "address to,address facilitator",
                (RECIPIENT, self.anybody, 0),
                (9_000,),
            ),
        ):
            fields += ",uint256 validAfter"
            types = {
                "PermitWitnessTransferFrom": (
                    "TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Witness witness"
                ),
                "TokenPermissions": "address token,uint256 amount",
                "Witness": fields,
            }
            message = {
                "permitted": {"token": TOKEN, "amount": 10_000},
                "spender": address,
                "nonce": nonce,
                "deadline": DEADLINE,
                "witness": dict(zip([each.split()[1] for each in fields.split(",")], witness, strict=True)),
            }
            digest = typed_digest(domain, types, "PermitWitnessTransferFrom", message)
            signature = sign_digest(self.people.buyer.key, digest).packed
            rest = (((TOKEN, 10_000), nonce, DEADLINE), *amount, self.buyer, witness, signature)
            proxy = OnChain(self.token.chain, address, load(contract).abi)
            with self.token.chain.rollback():
                v, r, s = self.permit(addresses.PERMIT2)
                yield proxy.send(self.anybody, "settleWithPermit", (10_000, DEADLINE, r, s, v), *rest)
            with self.token.chain.rollback():
                self.token.send(self.buyer, "approve", addresses.PERMIT2, 2**255)
                yield proxy.send(self.anybody, "settle", *rest)

    def deposits(self) -> Iterator[Receipt]:
        with self.token.chain.rollback():
            yield self.channel.deposit(100)
        with self.token.chain.rollback():
            v, r, s = self.permit(addresses.PERMIT2)
            permit = encode(["uint256", "uint256", "uint8", "bytes32", "bytes32"], [10_000, DEADLINE, v, r, s])
            yield permit2_deposit(self.channel, 10_000, permit)

    def claims(self) -> Iterator[Receipt]:
        """Claims of several channels, their first, then the payment to the receiver and the return of the rest."""
        for number in CLAIMED:
            with self.token.chain.rollback():
                channels = [self.channel.but(salt=keccak(bytes([each]))) for each in range(number)]
                for each in channels:
                    each.deposit(100)
                vouchers = [each.voucher(90, 90) for each in channels]
                signed = batch_signature(self.people.other.key, [(each.id, 90, 90) for each in channels])
                contract = self.channel.contract
                calls = [
                    contract.data("claimWithSignature", vouchers, signed),
                    contract.data(
                        "refundWithSignature", channels[0].config, 10, 0, channels[0].refund_signature(10, 0)
                    ),
                ]
                with self.token.chain.rollback():
                    yield self.channel.send("multicall", calls)
                yield contract.send_data(self.anybody, calls[0])
                yield contract.send_data(self.anybody, calls[1])
                yield self.channel.send("settle", self.people.merchant.address, TOKEN)


def test_table_has_the_gas_of_ordinary_payers(channel: Channel) -> None:
    bench = Bench(channel)
    parts = (bench.authorizations, bench.cancellations, bench.checkout, bench.proxies, bench.deposits, bench.claims)
    used: dict[str, list[tuple[int, int]]] = {}
    for receipt in (receipt for part in parts for receipt in part()):
        data = bytes.fromhex(channel.token.chain.rpc("eth_getTransactionByHash", receipt.hash)["input"][2:])
        name = next(each for each in ORDINARY_GAS if keccak(text=each)[:4] == data[:4])
        used.setdefault(name, []).append((receipt.gas_used, ordinary_gas(data) or 0))
    assert used.keys() == ORDINARY_GAS.keys()
    for name, payments in used.items():
        assert all(gas <= listed for gas, listed in payments), (name, payments)
        # The dearest case decides, and is at most 3 % below the table.
        assert min(listed / gas for gas, listed in payments) <= 1.03, (name, payments)


def test_listed_functions_are_those_of_the_contracts_and_of_x402() -> None:
    ours = {signature_of(each) for name in CONTRACTS for each in load(name).abi if each["type"] == "function"}
    assert ORDINARY_GAS.keys() <= ours
    sent = (
        *x402.TRANSFER_WITH_AUTHORIZATION_VRS_ABI,
        *x402.TRANSFER_WITH_AUTHORIZATION_BYTES_ABI,
        *x402.X402_EXACT_PERMIT2_PROXY_ABI,
        *x402.X402_UPTO_PERMIT2_PROXY_ABI,
        *x402.X402_EXACT_PERMIT2_PROXY_SETTLE_WITH_PERMIT_ABI,
        *x402.X402_UPTO_PERMIT2_PROXY_SETTLE_WITH_PERMIT_ABI,
        *BATCH_SETTLEMENT_ABI,
    )
    settlement = ("deposit", "claimWithSignature", "settle", "refundWithSignature", "multicall")
    written = {signature_of(each) for each in sent if each not in BATCH_SETTLEMENT_ABI or each["name"] in settlement}
    assert len(written) == 11
    assert written <= ORDINARY_GAS.keys()


@pytest.mark.parametrize("length", [0, 3, 4, 36, 68])
def test_malformed_data_have_bounded_gas(length: int) -> None:
    for signature, gas in ORDINARY_GAS.items():
        data = (keccak(text=signature)[:4] + b"\xff" * 96)[:length]
        estimate = ordinary_gas(data)
        assert estimate is None if length < 4 else gas.base <= (estimate or 0) <= gas.base + 3 * gas.item
