"""Transfers that are new money of the merchant: those to its account, and those to its batch capture contract.

The contract sends the sum of each batch to the merchant, in the same transaction. That is not new money. A transfer of
another amount is a sweep: it moves what the contract had received before.
"""

from collections.abc import Sequence
from typing import TypeVar

from foreseal.payments.chain import ChainLog, ChainReceipt
from foreseal.payments.chain.token import Transfer, address_topic, log_amount, transfers
from foreseal.payments.transfers.settings import WatcherSettings

T = TypeVar("T")
A = TypeVar("A", str, bytes)


def incoming(receipt: ChainReceipt, watch: WatcherSettings) -> list[Transfer]:
    """Return the transfers of a receipt to the merchant, without forwards of a batch and those below the minimum."""
    received = [each for each in transfers(receipt, watch.token) if each.recipient in watch.recipients]
    if watch.batch_capture is not None:
        moved = [(each, each.sender, each.recipient, each.amount) for each in received]
        received = _without_forwards(moved, watch.batch_capture)
    return [each for each in received if each.amount >= watch.min_transfer]


def without_forwards(logs: Sequence[ChainLog], watch: WatcherSettings) -> list[ChainLog]:
    """Return Transfer logs to the merchant, without forwards of a batch and those below the minimum.

    `logs` has all such logs of each transaction, in any order and possibly repeated.
    """
    if watch.batch_capture is None:
        return list(logs)
    contract = address_topic(watch.batch_capture)
    by_transaction: dict[str, dict[int, ChainLog]] = {}
    for log in logs:
        by_transaction.setdefault(log.transaction_hash, {})[log.log_index] = log
    kept: list[ChainLog] = []
    for by_index in by_transaction.values():
        in_order = [by_index[index] for index in sorted(by_index)]
        moved = [(log, log.topics[1], log.topics[2], log_amount(log)) for log in in_order]
        kept += _without_forwards(moved, contract)
    return [log for log in kept if log_amount(log) >= watch.min_transfer]


def _without_forwards(moved: Sequence[tuple[T, A, A, int]], contract: A) -> list[T]:
    """Return transfers, given with sender, recipient and amount, without those of the sums that they brought."""
    kept: list[T] = []
    received = 0
    for each, sender, recipient, amount in moved:
        if recipient == contract:
            received += amount
        elif sender == contract and amount == received:
            received = 0
            continue
        kept.append(each)
    return kept
