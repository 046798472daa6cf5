"""Validation of input from the network: headers, bodies, and the payloads of each scheme.

The package's models accept any dictionary as a scheme's payload. Here every field in use has a fixed format; any other
raises `Malformed` with the field's name. Amounts are decimal texts in a token's smallest units, times decimal texts in
seconds since 1970.
"""

import base64
import binascii
import re
from typing import Annotated, Literal, Self, TypeVar

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
    with_config,
)
from starlette.requests import Request
from typing_extensions import TypedDict
from x402.schemas import PaymentPayload, PaymentRequirements

from foreseal.payments.amounts import MAX_AMOUNT
from foreseal.payments.request_bodies import BodyTimeout, BodyTooLarge, HeldBody, read_bounded
from foreseal.payments.validation import describe, field_path

BODY_SECONDS = 30.0
"""Seconds in which the body of a request must arrive."""
HASH = re.compile(r"0x[0-9a-fA-F]{64}")
"""Format of a transaction hash."""
# Wallet signatures may exceed 65 bytes, but the length is bounded.
_SIGNATURE = 8192
# A claim with more vouchers does not fit into a block.
_CLAIMS = 200


class Malformed(ValueError):
    """The input does not conform to x402 v2. The message names the field."""


def _uint256(text: str) -> str:
    if int(text) > MAX_AMOUNT:
        raise ValueError("exceeds uint256")
    return text


_Address = Annotated[str, StringConstraints(pattern=r"^0x[0-9a-fA-F]{40}$")]
_Bytes32 = Annotated[str, StringConstraints(pattern=r"^0x[0-9a-fA-F]{64}$")]
Uint = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,78}$"), AfterValidator(_uint256)]
SignatureText = Annotated[str, StringConstraints(pattern=r"^0x([0-9a-fA-F]{2})*$", max_length=2 * _SIGNATURE)]


class _WireModel(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class TransferTerms(_WireModel):
    """An EIP-3009 authorization."""

    payer: _Address = Field(alias="from")
    to: _Address
    value: Uint
    valid_after: Uint = Field(alias="validAfter")
    valid_before: Uint = Field(alias="validBefore")
    nonce: _Bytes32


class Eip3009(_WireModel):
    """Payload of `exact` by EIP-3009."""

    authorization: TransferTerms
    signature: SignatureText


class Permitted(_WireModel):
    """Token and maximum amount that Permit2 may move."""

    token: _Address
    amount: Uint


class Witness(_WireModel):
    """Fields that the payer signs in addition to Permit2's own."""

    to: _Address
    valid_after: Uint = Field(alias="validAfter")


class UptoWitness(Witness):
    """Fields that the payer of `upto` signs in addition to Permit2's own."""

    facilitator: _Address


class _Transfer(_WireModel):
    """Signed fields of every transfer through Permit2."""

    payer: _Address = Field(alias="from")
    permitted: Permitted
    spender: _Address
    nonce: Uint
    deadline: Uint


class Permit2Terms(_Transfer):
    """A signed transfer through Permit2."""

    witness: Witness


class Permit2(_WireModel):
    """Payload of `exact` through Permit2."""

    authorization: Permit2Terms = Field(alias="permit2Authorization")
    signature: SignatureText


class UptoTerms(_Transfer):
    """A signed transfer of at most an amount through Permit2."""

    witness: UptoWitness


class UptoPermit2(_WireModel):
    """Payload of `upto`."""

    authorization: UptoTerms = Field(alias="permit2Authorization")
    signature: SignatureText


class ChannelTerms(_WireModel):
    """Fields whose hash is a payment channel's id."""

    payer: _Address
    payer_authorizer: _Address = Field(alias="payerAuthorizer")
    receiver: _Address
    receiver_authorizer: _Address = Field(alias="receiverAuthorizer")
    token: _Address
    withdraw_delay: int = Field(alias="withdrawDelay", ge=0, lt=2**40)
    salt: _Bytes32


class VoucherTerms(_WireModel):
    """A signed cumulative amount over the channel's lifetime."""

    channel: _Bytes32 = Field(alias="channelId")
    cumulative: Uint = Field(alias="maxClaimableAmount")
    signature: SignatureText


class ReceiveTerms(_WireModel):
    """The deposit's EIP-3009 authorization; its other fields follow from the channel."""

    valid_after: Uint = Field(alias="validAfter")
    valid_before: Uint = Field(alias="validBefore")
    salt: _Bytes32
    signature: SignatureText


class DepositWitness(_WireModel):
    """The channel that a deposit is for."""

    channel: _Bytes32 = Field(alias="channelId")


class DepositPermit2Terms(_Transfer):
    """A deposit through Permit2."""

    witness: DepositWitness
    signature: SignatureText


class DepositAuthorization(_WireModel):
    """Authorization of a deposit: one of the two forms."""

    erc3009: ReceiveTerms | None = Field(default=None, alias="erc3009Authorization")
    permit2: DepositPermit2Terms | None = Field(default=None, alias="permit2Authorization")

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if self.erc3009 is None and self.permit2 is None:
            raise ValueError("has neither erc3009Authorization nor permit2Authorization")
        # The key could be that of one, and the transfer that of the other.
        if self.erc3009 is not None and self.permit2 is not None:
            raise ValueError("has both erc3009Authorization and permit2Authorization")
        return self


class DepositTerms(_WireModel):
    """Amount and authorization of a deposit into the channel."""

    amount: Uint
    authorization: DepositAuthorization


class _ChannelPayload(_WireModel):
    """A channel, and the newest signed amount."""

    channel: ChannelTerms = Field(alias="channelConfig")
    voucher: VoucherTerms


class Voucher(_ChannelPayload):
    """Payload of `batch-settlement` on an open channel; with type refund it requests the rest."""

    type: Literal["voucher", "refund"]


class Deposit(_ChannelPayload):
    """Payload of `batch-settlement` that opens or tops up a channel."""

    type: Literal["deposit"]
    deposit: DepositTerms


class ClaimedVoucher(_WireModel):
    """Channel and cumulative amount, as a claim contains them."""

    channel: ChannelTerms
    cumulative: Uint = Field(alias="maxClaimableAmount")


class ClaimTerms(_WireModel):
    """A voucher that the receiver claims."""

    voucher: ClaimedVoucher
    signature: SignatureText
    claimed: Uint = Field(alias="totalClaimed")


class ChannelClaim(_WireModel):
    """A seller's request that a facilitator claims vouchers."""

    type: Literal["claim"]
    claims: Annotated[list[ClaimTerms], Field(min_length=1, max_length=_CLAIMS)]
    signature: SignatureText | None = Field(default=None, alias="claimAuthorizerSignature")


class Sweep(_WireModel):
    """A transfer of claimed money to its receiver."""

    type: Literal["settle"]
    receiver: _Address
    token: _Address


class Refund(_ChannelPayload):
    """A seller's request that a facilitator refunds money of a channel."""

    type: Literal["refund"]
    amount: Uint
    refund_nonce: Uint = Field(alias="refundNonce")
    claims: Annotated[list[ClaimTerms], Field(max_length=_CLAIMS)] = Field(default_factory=list)
    refund_signature: SignatureText | None = Field(default=None, alias="refundAuthorizerSignature")
    claim_signature: SignatureText | None = Field(default=None, alias="claimAuthorizerSignature")


GRANTED: TypeAdapter[Deposit | Voucher] = TypeAdapter(Annotated[Deposit | Voucher, Field(discriminator="type")])
"""Payloads of `batch-settlement` that pay for a request."""
SETTLED: TypeAdapter[Deposit | ChannelClaim | Sweep | Refund] = TypeAdapter(
    Annotated[Deposit | ChannelClaim | Sweep | Refund, Field(discriminator="type")]
)
"""Payloads of `batch-settlement` that a facilitator settles."""


@with_config(ConfigDict(strict=True, extra="allow"))
class WireExtra(TypedDict, total=False):
    """Members of `extra` that the package's schemes read. There may be others."""

    name: str | None
    version: str | None
    assetTransferMethod: str | None
    facilitatorAddress: _Address | None
    receiverAuthorizer: _Address | None
    withdrawDelay: Annotated[int, Field(ge=0, lt=2**40)] | None


class WireRequirements(PaymentRequirements):
    """Payment requirements of the package, with formats for the fields that it leaves as plain texts."""

    network: Annotated[str, StringConstraints(pattern=r"^eip155:[1-9][0-9]{0,17}$")]
    asset: _Address
    amount: Uint
    pay_to: _Address
    extra: WireExtra = Field(default_factory=WireExtra)  # type: ignore[assignment]


class WirePayment(PaymentPayload):
    """Payment of the package, of version 2 only."""

    x402_version: Literal[2]
    accepted: WireRequirements


class FacilitatorCall(_WireModel):
    """Body of a call to a facilitator."""

    payment: WirePayment = Field(alias="paymentPayload")
    requirements: WireRequirements = Field(alias="paymentRequirements")


M = TypeVar("M", bound=BaseModel)


def validate_payload(model: type[M] | TypeAdapter[M], value: object, location: str = "") -> M:
    """Validate a value by a model. Raises `Malformed` with the field's name below `location`."""
    try:
        return model.validate_python(value) if isinstance(model, TypeAdapter) else model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        # The location of an error in a union begins with the tag, which is no field.
        inner = first["loc"][1:] if isinstance(model, TypeAdapter) else first["loc"]
        path = field_path((location, *inner) if location else inner)
        raise Malformed(f"{path or 'payment'}: {describe(first)}") from None


async def read_bytes(request: Request, limit: int, held: HeldBody) -> bytes:
    """Return the body of a request, whose bytes count in `held`.

    Raises `Malformed` if it has more than `limit` bytes, or does not arrive in time, and `BodiesFull`.
    """
    try:
        return await read_bounded(request, limit, BODY_SECONDS, held)
    except BodyTooLarge:
        raise Malformed(f"body: must have at most {limit} bytes") from None
    except BodyTimeout:
        raise Malformed(f"body: must arrive within {BODY_SECONDS:g} s") from None


def read_header(value: str) -> PaymentPayload:
    """Return the payment in a `PAYMENT-SIGNATURE` header. Raises `Malformed`."""
    try:
        text = base64.b64decode(value.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise Malformed("PAYMENT-SIGNATURE: must be base64") from None
    return read_payment(read_json(text, "PAYMENT-SIGNATURE"), "")


def read_body(body: bytes) -> tuple[PaymentPayload, PaymentRequirements]:
    """Return payment and requirements of a call to a facilitator. Raises `Malformed`."""
    call = validate_payload(FacilitatorCall, read_json(body, "body"))
    return call.payment, call.requirements


def read_payment(raw: object, location: str) -> PaymentPayload:
    """Return a payment from its JSON value. Raises `Malformed`, also for version 1."""
    return validate_payload(WirePayment, raw, location)


def read_json(text: bytes, location: str) -> object:
    """Parse JSON. Raises `Malformed`."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Malformed(f"{location}: is not JSON: {error}") from None
