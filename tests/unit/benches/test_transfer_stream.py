"""Requests of the stream of transfers."""

import orjson
from benches.cluster.transfer_stream import (
    MAX_REQUESTS,
    group_size,
    rejected_of,
    request_body,
)

from transfer_accounts import transfer_accounts


def test_rate_above_the_limit_of_requests_is_sent_in_groups() -> None:
    assert group_size(1) == 1
    assert group_size(MAX_REQUESTS) == 1
    assert group_size(MAX_REQUESTS + 1) == 2
    assert group_size(20 * MAX_REQUESTS) == 20


def test_account_returns_transfers_in_the_order_of_nonces() -> None:
    (one,), (other,) = transfer_accounts(1), transfer_accounts(1)
    other.sign(50)
    assert [one.pop() for _ in range(50)] == [other.pop() for _ in range(50)]


def test_rejected_transfers_of_a_batch_are_returned_in_order() -> None:
    (account,) = transfer_accounts(1)
    group = [account.pop() for _ in range(4)]
    answers = [
        {"id": 3, "error": {"message": "pool is full"}},
        {"id": 0, "result": group[0].hash},
        {"id": 1, "error": {"message": "already known"}},
        {"id": 2, "error": {"message": "no leader"}},
    ]
    assert rejected_of(orjson.dumps(answers), group) == [group[2], group[3]]
    assert rejected_of(orjson.dumps(answers[1]), group) == []


def test_single_transfer_is_not_a_batch() -> None:
    transfer = transfer_accounts(1)[0].pop()
    body = orjson.loads(request_body([transfer]))
    assert body["params"] == [transfer.raw]
    assert isinstance(orjson.loads(request_body([transfer, transfer])), list)
