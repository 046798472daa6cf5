"""Payment channels of a seller in the database, as the package's scheme keeps them in memory or in files.

Every change is one transaction with the channel's row locked, so that processes that share the database charge a
voucher once.
"""

from collections.abc import Callable

import orjson
from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from x402.mechanisms.evm.batch_settlement.server.storage import Channel, ChannelUpdateResult
from x402.mechanisms.evm.batch_settlement.types import ChannelConfig
from x402.schemas import PaymentPayload, PaymentRequirements

from foreseal.payments.ledger import Database, Overtaken
from foreseal.payments.x402.tables import channels

# The first two of a channel may find no row to lock, and one of them begins anew.
_ATTEMPTS = 3


class Channels:
    """A `ChannelStorage` of the package."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, channel_id: str) -> Channel | None:
        """A channel as it was last stored."""
        with self._database.reading() as tx:
            found = tx.execute(
                select(channels.c.record).where(channels.c.id == channel_id.lower())
            ).scalar_one_or_none()
        return None if found is None else _read(found)

    def list(self) -> list[Channel]:
        """All channels."""
        with self._database.reading() as tx:
            return [_read(each) for each in tx.execute(select(channels.c.record).order_by(channels.c.id)).scalars()]

    def update_channel(
        self, channel_id: str, update: Callable[[Channel | None], Channel | None]
    ) -> ChannelUpdateResult:
        """Let `update` say what a channel becomes: the same object is no change, None removes it.

        Raises `Overtaken` if others kept being first.
        """
        for _ in range(_ATTEMPTS):
            try:
                return self._update(channel_id.lower(), update)
            except IntegrityError:  # another process made the channel just now
                continue
        raise Overtaken(f"channel {channel_id} was made by somebody else just now")

    def _update(self, id: str, change: Callable[[Channel | None], Channel | None]) -> ChannelUpdateResult:
        with self._database.transaction() as tx:
            mine = channels.c.id == id
            stored = tx.execute(select(channels.c.record).where(mine).with_for_update()).scalar_one_or_none()
            before = None if stored is None else _read(stored)
            after = change(before)
            if after is before:
                return ChannelUpdateResult(before, "unchanged")
            if after is None:
                tx.execute(delete(channels).where(mine))
                return ChannelUpdateResult(None, "deleted")
            record = orjson.dumps(after.to_dict()).decode()
            if stored is None:
                tx.execute(insert(channels).values(id=id, record=record))
            else:
                tx.execute(update(channels).where(mine).values(record=record))
            return ChannelUpdateResult(after.copy(), "updated")


def is_charged(channel: Channel | None, payment: PaymentPayload) -> bool:
    """Whether a voucher's request was charged: the channel's sum is beyond what it was before."""
    if channel is None:
        return False
    return int(channel.charged_cumulative_amount) > _before(payment)


def is_reserved(channel: Channel | None, milliseconds: int) -> bool:
    """Whether a request on the channel is under way at this time since 1970."""
    return (
        channel is not None
        and channel.pending_request is not None
        and (channel.pending_request.expires_at > milliseconds)
    )


def charge(storage: Channels, payment: PaymentPayload, charged: int, balance: str | None) -> None:
    """Charge a request whose process ended before it did. Raises ValueError if the channel went on otherwise."""
    raw, before = payment.payload, _before(payment)

    def after(current: Channel | None) -> Channel:
        if current is None:
            current = Channel(raw["voucher"]["channelId"], ChannelConfig.from_dict(raw["channelConfig"]), str(before))
        if int(current.charged_cumulative_amount) != before:
            raise ValueError(f"channel {current.channel_id}: was charged for something else")
        following = current.copy()
        following.charged_cumulative_amount = str(before + charged)
        following.signed_max_claimable = str(raw["voucher"]["maxClaimableAmount"])
        following.signature = raw["voucher"]["signature"]
        following.balance = current.balance if balance is None else balance
        following.pending_request = None
        return following

    storage.update_channel(raw["voucher"]["channelId"], after)


def _before(payment: PaymentPayload) -> int:
    """The channel's sum before a voucher, which promises the price on top of it."""
    asked: PaymentRequirements = payment.accepted
    return int(payment.payload["voucher"]["maxClaimableAmount"]) - int(asked.amount)


def _read(record: str) -> Channel:
    return Channel.from_dict(orjson.loads(record))
