"""Transactions with a buyer's signed payment that other accounts than the facilitator's send."""

from typing import Any

from eth_abi.abi import encode
from eth_account.signers.local import LocalAccount
from eth_utils.crypto import keccak
from x402.mechanisms.evm.constants import (
    X402_EXACT_PERMIT2_PROXY_ABI,
    X402_EXACT_PERMIT2_PROXY_SETTLE_WITH_PERMIT_ABI,
)
from x402.mechanisms.evm.exact.permit2_utils import _build_permit2_settle_args
from x402.mechanisms.evm.multicall import encode_contract_call
from x402.mechanisms.evm.types import ExactPermit2Payload
from x402.schemas import PaymentPayload

from foreseal.payments.contracts.addresses import EXACT_PERMIT2_PROXY, MULTICALL3, PERMIT2
from payments.x402.world import TOKEN, World


def proxy_call(payment: PaymentPayload) -> bytes:
    """Return the call of the exact proxy that settles a payment, with its permit if it has one."""
    terms = _build_permit2_settle_args(ExactPermit2Payload.from_dict(payment.payload))
    if not payment.extensions:
        return encode_contract_call(X402_EXACT_PERMIT2_PROXY_ABI, "settle", *terms)
    permit = payment.extensions["eip2612GasSponsoring"]["info"]
    signature = bytes.fromhex(permit["signature"].removeprefix("0x"))
    values = (int(permit["amount"]), int(permit["deadline"]), signature[:32], signature[32:64], signature[64])
    abi = X402_EXACT_PERMIT2_PROXY_SETTLE_WITH_PERMIT_ABI
    return encode_contract_call(abi, "settleWithPermit", values, *terms)


def send(world: World, sender: LocalAccount, target: str, data: bytes) -> str:
    """Send a transaction whose receipt must report success. Return its hash."""
    sent = world.rpc("eth_sendTransaction", {"from": sender.address, "to": target, "data": "0x" + data.hex()})
    receipt = world.receipt(sent)
    assert receipt["status"] == "0x1", receipt
    return str(receipt["transactionHash"])


def submit_to_proxy(world: World, sender: LocalAccount, payment: PaymentPayload) -> str:
    """Settle a Permit2 payment by a direct call of the proxy. Return the transaction's hash."""
    return send(world, sender, EXACT_PERMIT2_PROXY, proxy_call(payment))


def submit_by_multicall(world: World, sender: LocalAccount, *payments: PaymentPayload) -> str:
    """Settle Permit2 payments by one call of Multicall3. Return the transaction's hash."""
    calls = [(EXACT_PERMIT2_PROXY, False, proxy_call(each)) for each in payments]
    data = keccak(text="aggregate3((address,bool,bytes)[])")[:4] + encode(["(address,bool,bytes)[]"], [calls])
    return send(world, sender, MULTICALL3, data)


def invalidate(world: World, payer: LocalAccount, payment: PaymentPayload) -> None:
    """Use up the Permit2 nonce of a payment as its payer, without a transfer."""
    nonce = int(payment.payload["permit2Authorization"]["nonce"])
    world.act(payer, "invalidateUnorderedNonces(uint256,uint256)", nonce >> 8, 1 << (nonce & 0xFF), to=PERMIT2)


def submit_authorization(world: World, sender: LocalAccount, payment: PaymentPayload) -> str:
    """Settle an EIP-3009 payment. Return the transaction's hash."""
    terms = payment.payload["authorization"]
    values: tuple[Any, ...] = (
        terms["from"],
        terms["to"],
        int(terms["value"]),
        int(terms["validAfter"]),
        int(terms["validBefore"]),
        bytes.fromhex(terms["nonce"].removeprefix("0x")),
        bytes.fromhex(payment.payload["signature"].removeprefix("0x")),
    )
    kinds = "address,address,uint256,uint256,uint256,bytes32,bytes"
    receipt = world.act(sender, f"transferWithAuthorization({kinds})", *values, to=TOKEN)
    return str(receipt["transactionHash"])
