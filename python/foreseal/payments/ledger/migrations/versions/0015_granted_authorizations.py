"""Schema 15: one record names the one sale that an authorization pays, an order or an x402 grant."""

import json
import re
from decimal import Decimal
from typing import Any, NamedTuple

import sqlalchemy as sa
from alembic import op
from eth_utils.address import to_checksum_address

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

# A uint256: decimal text of fixed width, or a number on PostgreSQL.
_UNITS = sa.String(78).with_variant(sa.Numeric(78, 0), "postgresql")
_GRANT_ID = re.compile(r"([0-9]{1,18})-(0x[0-9a-f]{40})-(0x[0-9a-f]{40})-0x([0-9a-f]{64})")

_GRANTS = sa.table(
    "x402_grants",
    *(sa.column(name) for name in ("id", "requirements", "transaction_hash", "state")),
    sa.column("charged", _UNITS),
)
_ORDERS = sa.table("orders", sa.column("id"), sa.column("state"))
_AUTHORIZATIONS = sa.table(
    "authorizations",
    sa.column("chain_id"),
    sa.column("contract"),
    sa.column("payer"),
    sa.column("nonce", sa.LargeBinary()),
    sa.column("order_id"),
    sa.column("grant_id"),
    sa.column("payee"),
    sa.column("amount", _UNITS),
    sa.column("transaction_hash"),
)
_TRANSFERS = sa.table(
    "transfers",
    *(sa.column(name) for name in ("chain_id", "transaction_hash", "position", "token", "sender", "recipient")),
    sa.column("nonce", sa.LargeBinary()),
    *(sa.column(name) for name in ("checkout", "order_id", "grant_id")),
    sa.column("amount", _UNITS),
)
_KEY = ("chain_id", "transaction_hash", "position")
_UNMATCHED = sa.table("unmatched_transfers", *(sa.column(name) for name in (*_KEY, "reason")))
_RESOLUTIONS = sa.table("resolutions", *(sa.column(name) for name in _KEY))


class _Claim(NamedTuple):
    """A grant, and the terms of its transfer."""

    grant_id: str
    chain_id: int
    contract: str
    payer: str
    nonce: bytes
    payee: str | None
    amount: int | None
    transaction_hash: str | None


def upgrade() -> None:
    """Add the columns, and enter the existing grants and their transfers."""
    tx = op.get_bind()
    _alter(tx)
    if sa.inspect(tx).has_table("x402_grants"):
        for claim in _claims(tx):
            if _enter(tx, claim):
                _match(tx, claim)
    authorized = sa.select(_TRANSFERS.c.position).where(_same(_UNMATCHED), _TRANSFERS.c.nonce.is_not(None))
    unknown = (_UNMATCHED.c.reason == "unmatched") & authorized.exists()
    tx.execute(sa.update(_UNMATCHED).where(unknown).values(reason="shared_payee"))


def _alter(tx: sa.Connection) -> None:
    # SQLite copies the table, to which no other one refers.
    with op.batch_alter_table("authorizations") as batch:
        batch.alter_column("order_id", existing_type=sa.String(200), nullable=True)
        batch.add_column(sa.Column("grant_id", sa.String(200)))
        batch.add_column(sa.Column("payee", sa.String(42)))
        batch.add_column(sa.Column("amount", _UNITS))
        batch.add_column(sa.Column("transaction_hash", sa.String(66)))
        batch.create_unique_constraint("authorizations_grant_id_key", ["grant_id"])
        batch.create_check_constraint("authorizations_one_sale", "(order_id IS NULL) <> (grant_id IS NULL)")
    op.create_index("authorizations_payment", "authorizations", ["chain_id", "payer", "transaction_hash"])
    one_sale = "CONSTRAINT transfers_one_sale CHECK (order_id IS NULL OR grant_id IS NULL)"
    # Other tables refer to this one, so SQLite cannot copy it. It accepts the constraint with the column.
    separator = " " if tx.dialect.name == "sqlite" else ", ADD "
    tx.exec_driver_sql(f"ALTER TABLE transfers ADD COLUMN grant_id VARCHAR(200){separator}{one_sale}")
    op.create_index("transfers_nonce", "transfers", ["chain_id", "token", "sender", "nonce"])
    op.create_index("transfers_grant", "transfers", ["grant_id"], unique=True)


def _claims(tx: sa.Connection) -> list[_Claim]:
    """Return the grants that were or may be paid."""
    open_ = _GRANTS.c.state.not_in(("Declined", "Released"))
    found = []
    for row in tx.execute(sa.select(_GRANTS).where(open_).order_by(_GRANTS.c.id)):
        key = _GRANT_ID.fullmatch(row.id)
        if key is not None:
            contract, payer = to_checksum_address(key[2]), to_checksum_address(key[3])
            payee, amount = _terms(json.loads(row.requirements), row.charged)
            nonce = bytes.fromhex(key[4])
            found.append(_Claim(row.id, int(key[1]), contract, payer, nonce, payee, amount, row.transaction_hash))
    return found


def _terms(requirements: dict[str, Any], charged: str | Decimal | None) -> tuple[str | None, int | None]:
    """Return payee and amount of a grant's transfer. The money of payment channels goes to their contract."""
    if requirements["scheme"] == "batch-settlement":
        return None, None
    amount = requirements["amount"] if requirements["scheme"] == "exact" else charged
    return to_checksum_address(requirements["payTo"]), None if amount is None else int(amount)


def _enter(tx: sa.Connection, claim: _Claim) -> bool:
    """Enter a grant. Return False if an order has its authorization: until this schema, both could have it.

    An order that has ended is not paid any more, so the grant replaces it.
    """
    columns = _AUTHORIZATIONS.c
    same = (columns.chain_id == claim.chain_id) & (columns.contract == claim.contract)
    same &= (columns.payer == claim.payer) & (columns.nonce == claim.nonce)
    joined = _AUTHORIZATIONS.join(_ORDERS, _ORDERS.c.id == columns.order_id)
    state = tx.execute(sa.select(_ORDERS.c.state).select_from(joined).where(same)).scalar_one_or_none()
    if state not in (None, "Voided offchain", "Canceled", "Expired"):
        return False
    tx.execute(sa.delete(_AUTHORIZATIONS).where(same))
    tx.execute(sa.insert(_AUTHORIZATIONS).values(claim._asdict() | {"amount": _units(tx, claim.amount)}))
    return True


def _match(tx: sa.Connection, claim: _Claim) -> None:
    """Match the unmatched transfer that pays a grant, unless it is resolved. A refund is a resolution, too."""
    if claim.amount is None:
        return
    columns = _TRANSFERS.c
    terms = (columns.chain_id == claim.chain_id) & (columns.sender == claim.payer)
    terms &= (columns.recipient == claim.payee) & (columns.amount == _units(tx, claim.amount))
    by_nonce = (columns.token == claim.contract) & (columns.nonce == claim.nonce)
    by_hash = columns.nonce.is_(None) & (columns.transaction_hash == claim.transaction_hash)
    open_ = columns.checkout.is_(None) & columns.order_id.is_(None) & columns.grant_id.is_(None)
    resolved = sa.select(_RESOLUTIONS.c.position).where(_same(_RESOLUTIONS)).exists()
    query = sa.select(columns.chain_id, columns.transaction_hash, columns.position)
    query = query.where(terms, by_nonce | by_hash, open_, ~resolved).order_by(columns.position).limit(1)
    for row in tx.execute(query).all():
        paid, listed = (
            sa.and_(*(table.c[name] == getattr(row, name) for name in _KEY)) for table in (_TRANSFERS, _UNMATCHED)
        )
        tx.execute(sa.update(_TRANSFERS).where(paid).values(grant_id=claim.grant_id))
        tx.execute(sa.delete(_UNMATCHED).where(listed))


def _same(table: sa.TableClause) -> sa.ColumnElement[bool]:
    return sa.and_(*(table.c[name] == _TRANSFERS.c[name] for name in _KEY))


def _units(tx: sa.Connection, amount: int | None) -> str | Decimal | None:
    if amount is None:
        return None
    return Decimal(amount) if tx.dialect.name == "postgresql" else f"{amount:078}"
