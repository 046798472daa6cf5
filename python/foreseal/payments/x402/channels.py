"""A seller's payment channels in the database, in place of the package's storage in memory or files.

Each change is one transaction with a lock on the channel's row. Processes that share the database therefore charge a
voucher once.
"""

from collections.abc import Callable
from dataclasses import replace

import orjson
from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from x402.mechanisms.evm.batch_settlement.server.storage import Channel, ChannelUpdateResult
from x402.mechanisms.evm.batch_settlement.types import ChannelConfig
from x402.schemas import PaymentPayload, PaymentRequirements

from foreseal.payments.ledger import ConcurrentUpdate, Database
from foreseal.payments.typed_data import check_signature_form
from foreseal.payments.x402.models import SellerChannelRecord

# The first two updates of a channel may find no row to lock; one of them retries.
_ATTEMPTS = 3


def claim_obstacle(payload: PaymentPayload) -> str | None:
    """Return the error reason of a voucher that may not be claimable later, or None.

    Without an authorizer, the payer's code decides when the voucher is claimed, and it may have changed by then, also
    that of an account with a key (EIP-7702). With one, the contract recovers a key, and rejects forms of a signature
    that a recovery elsewhere may accept.
    """
    if int(payload.payload["channelConfig"]["payerAuthorizer"], 16) == 0:
        return "payer_authorizer_required"
    try:
        check_signature_form(bytes.fromhex(payload.payload["voucher"]["signature"].removeprefix("0x")))
    except ValueError:
        return "invalid_voucher_signature"
    return None


class SellerChannels:
    """Implementation of the package's `ChannelStorage`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, channel_id: str) -> Channel | None:
        """Return the stored channel."""
        with self._database.reading() as tx:
            stored = tx.execute(
                select(SellerChannelRecord.record).where(SellerChannelRecord.id == channel_id.lower())
            ).scalar_one_or_none()
        return None if stored is None else _read(stored)

    def list(self) -> list[Channel]:
        """Return all channels."""
        with self._database.reading() as tx:
            return [
                _read(record)
                for record in tx.execute(select(SellerChannelRecord.record).order_by(SellerChannelRecord.id)).scalars()
            ]

    def update_channel(
        self, channel_id: str, update: Callable[[Channel | None], Channel | None]
    ) -> ChannelUpdateResult:
        """Apply `update` to a channel. Returning the same object changes nothing; returning None deletes the channel.

        Raises `ConcurrentUpdate` if other processes repeatedly inserted it first.
        """
        for _ in range(_ATTEMPTS):
            try:
                return self._update(channel_id.lower(), update)
            except IntegrityError:  # another process inserted the channel in between
                continue
        raise ConcurrentUpdate(f"channel {channel_id} was just created by another process")

    def _update(self, id: str, change: Callable[[Channel | None], Channel | None]) -> ChannelUpdateResult:
        with self._database.transaction() as tx:
            mine = SellerChannelRecord.id == id
            stored = tx.execute(select(SellerChannelRecord.record).where(mine).with_for_update()).scalar_one_or_none()
            before = None if stored is None else _read(stored)
            after = change(before)
            if after is before:
                return ChannelUpdateResult(before, "unchanged")
            if after is None:
                tx.execute(delete(SellerChannelRecord).where(mine))
                return ChannelUpdateResult(None, "deleted")
            record = orjson.dumps(after.to_dict()).decode()
            if stored is None:
                tx.execute(
                    insert(SellerChannelRecord).values({SellerChannelRecord.id: id, SellerChannelRecord.record: record})
                )
            else:
                tx.execute(update(SellerChannelRecord).where(mine).values({SellerChannelRecord.record: record}))
            return ChannelUpdateResult(after.copy(), "updated")


def is_charged(channel: Channel | None, payment: PaymentPayload) -> bool:
    """Return True if a voucher's request was charged: the channel's sum exceeds its value before the voucher."""
    if channel is None:
        return False
    return int(channel.charged_cumulative_amount) > _before(payment)


def is_reserved(channel: Channel | None, milliseconds: int) -> bool:
    """Return True if a request on the channel is in progress at this time, in milliseconds since 1970."""
    return (
        channel is not None
        and channel.pending_request is not None
        and (channel.pending_request.expires_at > milliseconds)
    )


def extend_reservation(storage: SellerChannels, payment: PaymentPayload, until: int) -> None:
    """Extend the reservation of a request in progress, if the channel has it, to `until` in milliseconds."""
    voucher = payment.payload["voucher"]

    def extended(current: Channel | None) -> Channel | None:
        reservation = None if current is None else current.pending_request
        if current is None or reservation is None or reservation.expires_at >= until:
            return current
        if reservation.signed_max_claimable != str(voucher["maxClaimableAmount"]):
            return current
        following = current.copy()
        following.pending_request = replace(reservation, expires_at=until)
        return following

    storage.update_channel(voucher["channelId"], extended)


def charge(storage: SellerChannels, payment: PaymentPayload, charged: int, balance: str | None) -> None:
    """Charge a request whose process crashed before it did. Raises ValueError if the channel's sum changed since."""
    raw, before = payment.payload, _before(payment)

    def after(current: Channel | None) -> Channel:
        if current is None:
            current = Channel(raw["voucher"]["channelId"], ChannelConfig.from_dict(raw["channelConfig"]), str(before))
        if int(current.charged_cumulative_amount) != before:
            raise ValueError(f"channel {current.channel_id}: was charged for another request")
        following = current.copy()
        following.charged_cumulative_amount = str(before + charged)
        following.signed_max_claimable = str(raw["voucher"]["maxClaimableAmount"])
        following.signature = raw["voucher"]["signature"]
        following.balance = current.balance if balance is None else balance
        following.pending_request = None
        return following

    storage.update_channel(raw["voucher"]["channelId"], after)


def _before(payment: PaymentPayload) -> int:
    """Return the channel's sum before a voucher, which adds the price to it."""
    requirements: PaymentRequirements = payment.accepted
    return int(payment.payload["voucher"]["maxClaimableAmount"]) - int(requirements.amount)


def _read(record: str) -> Channel:
    return Channel.from_dict(orjson.loads(record))
