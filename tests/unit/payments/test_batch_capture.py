"""Call data of batch captures, compared with eth-abi, and what the logs of a receipt prove."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from eth_abi.abi import encode
from eth_utils.address import to_checksum_address
from hypothesis import given
from hypothesis import strategies as st

from foreseal.payments.chain import ChainLog, ChainReceipt, Incomplete
from foreseal.payments.chain.batch_capture import (
    CALL_GAS,
    CAPTURE,
    CAPTURE_FAILED,
    CAPTURE_FROM_WALLETS,
    MAX_AUTHORIZATIONS,
    batch_capture_call,
    captured_in_batch,
    max_batch_gas,
)
from foreseal.payments.chain.token import AUTHORIZATION_USED, PAYMENT_CAPTURED, TRANSFERRED, address_topic
from foreseal.payments.typed_data import ReceiveAuthorization

TOKEN, CONTRACT, MERCHANT, BUYER, OTHER = (to_checksum_address("0x" + f"{byte:02x}" * 20) for byte in range(0xA1, 0xA6))
NONCE = b"\x11" * 32
FIELDS = "address,uint256,uint256,uint256,bytes32"
WORDS = st.integers(0, 2**256 - 1)
MESSAGES = st.builds(
    ReceiveAuthorization,
    payer=st.binary(min_size=20, max_size=20).map(to_checksum_address),
    payee=st.just(CONTRACT),
    value=WORDS,
    valid_after=WORDS,
    valid_before=WORDS,
    nonce=st.binary(min_size=32, max_size=32),
)
KEYS = st.binary(min_size=65, max_size=65)


def fields(message: ReceiveAuthorization) -> tuple[str, int, int, int, bytes]:
    return message.payer, message.value, message.valid_after, message.valid_before, message.nonce


def message(nonce: bytes = NONCE) -> ReceiveAuthorization:
    return ReceiveAuthorization(BUYER, CONTRACT, 5, 0, 2_000_000_000, nonce)


@given(st.lists(st.tuples(MESSAGES, KEYS), min_size=1, max_size=20))
def test_capture_call_equals_that_of_eth_abi(batch: list[tuple[ReceiveAuthorization, bytes]]) -> None:
    items = [(*fields(each), key[64], key[:32], key[32:64]) for each, key in batch]
    expected = CAPTURE + encode([f"({FIELDS},uint8,bytes32,bytes32)[]"], [items])
    assert batch_capture_call([each for each, _ in batch], [key for _, key in batch]) == expected


@given(
    st.lists(st.tuples(MESSAGES, st.binary(max_size=200)), min_size=1, max_size=20), st.integers(CALL_GAS, 2**256 - 1)
)
def test_wallet_call_equals_that_of_eth_abi(batch: list[tuple[ReceiveAuthorization, bytes]], call_gas: int) -> None:
    items = [(*fields(each), signature) for each, signature in batch]
    expected = CAPTURE_FROM_WALLETS + encode([f"({FIELDS},bytes)[]", "uint256"], [items, call_gas])
    messages, signatures = [each for each, _ in batch], [signature for _, signature in batch]
    assert batch_capture_call(messages, signatures, call_gas) == expected


def test_form_of_the_call_follows_the_signatures() -> None:
    messages = [message(), message(b"\x22" * 32)]
    assert batch_capture_call(messages, [bytes(65)] * 2)[:4] == CAPTURE
    for signatures in ([bytes(65), bytes(64)], [bytes(66), bytes(65)], [bytes(65), b""]):
        data = batch_capture_call(messages, signatures)
        assert (data[:4], int.from_bytes(data[36:68], "big")) == (CAPTURE_FROM_WALLETS, CALL_GAS)
    assert batch_capture_call(messages, [bytes(65)] * 2, CALL_GAS)[:4] == CAPTURE_FROM_WALLETS


def test_invalid_batch_is_rejected_by_name() -> None:
    one, key = message(), bytes(65)
    assert len(batch_capture_call([one] * MAX_AUTHORIZATIONS, [key] * MAX_AUTHORIZATIONS)) == 4 + 64 + 200 * 256
    for messages, signatures, call_gas, text in [
        ([], [], None, "authorizations: must be 1 to 200, got 0"),
        ([one] * 201, [key] * 201, None, "authorizations: must be 1 to 200, got 201"),
        ([one], [], None, "signatures: must be 1, one per authorization, got 0"),
        ([one], [key, key], None, "signatures: must be 1, one per authorization, got 2"),
        ([one, replace(one, payee=OTHER)], [key, key], None, "authorizations: must all have the contract"),
        ([one], [key], CALL_GAS - 1, "call_gas: must be at least 200000, got 199999"),
        ([one], [key], 2**256, "call_gas: .* must be between 0 and"),
    ]:
        with pytest.raises(ValueError, match=text):
            batch_capture_call(messages, signatures, call_gas)


def test_maximum_gas_covers_each_authorization() -> None:
    def limit(size: int, call_gas: int | None = None) -> int:
        return max_batch_gas(batch_capture_call([message()] * size, [bytes(65)] * size, call_gas))

    assert limit(78) <= 2**24 < limit(79)
    assert limit(2) - limit(1) >= CALL_GAS + 256 * 16
    assert limit(2, 10**6) - limit(1, 10**6) >= 10**6
    for data in (b"", bytes(100), CAPTURE_FAILED):
        with pytest.raises(ValueError, match="data: must be a call of the batch capture"):
            max_batch_gas(data)


Entry = tuple[str, tuple[bytes, ...], bytes]


def used(payer: str, nonce: bytes = NONCE, token: str = TOKEN) -> Entry:
    return token, (AUTHORIZATION_USED, address_topic(payer), nonce), b""


def moved(sender: str, recipient: str, amount: int, token: str = TOKEN) -> Entry:
    return token, (TRANSFERRED, address_topic(sender), address_topic(recipient)), amount.to_bytes(32, "big")


def paid_at_checkout(amount: int) -> Entry:
    return OTHER, (PAYMENT_CAPTURED, NONCE, address_topic(BUYER)), amount.to_bytes(32, "big") * 2


def rejected(payer: str, reason: bytes, nonce: bytes = NONCE, contract: str = CONTRACT) -> Entry:
    return contract, (CAPTURE_FAILED, address_topic(payer), nonce), encode(["bytes"], [reason])


def receipt(*entries: Entry, succeeded: bool = True) -> ChainReceipt:
    logs = [ChainLog(*entry, 7, "0xb", "0xabc", 40 + index) for index, entry in enumerate(entries)]
    return ChainReceipt("0xabc", 7, "0xb", succeeded, 90_000, tuple(logs))


def read(*entries: Entry) -> tuple[Sequence[tuple[str, bytes]], dict[tuple[str, bytes], str], int]:
    outcome = captured_in_batch(receipt(*entries), TOKEN, CONTRACT, MERCHANT)
    return list(outcome.captured), {key: failure.reason for key, failure in outcome.failed.items()}, outcome.amount


TEXT = bytes.fromhex("08c379a0") + encode(["string"], ["FiatTokenV2: authorization is expired"])


def test_receipt_proves_captures_and_failures() -> None:
    entries = (
        *(used(BUYER), moved(BUYER, CONTRACT, 5)),
        rejected(OTHER, TEXT),
        *(used(OTHER, b"\x22" * 32), moved(OTHER, CONTRACT, 7)),
        moved(CONTRACT, MERCHANT, 12),
    )
    outcome = captured_in_batch(receipt(*entries), TOKEN.lower(), CONTRACT.lower(), MERCHANT.lower())
    assert [(key, transfer.amount) for key, transfer in outcome.captured.items()] == [
        ((BUYER, NONCE), 5),
        ((OTHER, b"\x22" * 32), 7),
    ]
    assert [transfer.log.log_index for transfer in outcome.captured.values()] == [41, 44]
    (failed,) = outcome.failed.values()
    assert (failed.payer, failed.nonce, failed.data, failed.log.log_index) == (OTHER, NONCE, TEXT, 42)
    assert failed.reason == "FiatTokenV2: authorization is expired"
    assert outcome.amount == 12


def test_capture_wins_over_the_failure_of_a_duplicate() -> None:
    captured = (used(BUYER), moved(BUYER, CONTRACT, 5))
    for entries in ((*captured, rejected(BUYER, TEXT)), (rejected(BUYER, TEXT), *captured)):
        assert read(*entries, moved(CONTRACT, MERCHANT, 5)) == ([(BUYER, NONCE)], {}, 5)
    assert list(read(rejected(BUYER, TEXT), rejected(BUYER, b""))[1].values()) == [
        "FiatTokenV2: authorization is expired"
    ]


def test_reason_of_a_failure_is_readable() -> None:
    long = bytes.fromhex("08c379a0") + encode(["string"], ["é" * 200])
    for data, reason in {
        b"": "reverted without a reason, or ran out of its gas",
        TEXT: "FiatTokenV2: authorization is expired",
        bytes.fromhex("a43fec12") + b"\x01": "0xa43fec1201",
        bytes.fromhex("08c379a0"): "0x08c379a0",
        bytes.fromhex("08c379a0") + bytes(64): "0x08c379a0" + "00" * 64,
        # An odd number of bytes remains.
        long[:256]: "é" * 94,
        long[:255]: "é" * 93 + "\N{REPLACEMENT CHARACTER}",
    }.items():
        assert read(rejected(BUYER, data))[1] == {(BUYER, NONCE): reason}


def test_zero_value_needs_no_sum() -> None:
    assert read(used(BUYER), moved(BUYER, CONTRACT, 0)) == ([(BUYER, NONCE)], {}, 0)


def test_reverted_batch_captured_nothing() -> None:
    reverted = receipt(used(BUYER), moved(BUYER, CONTRACT, 5), succeeded=False)
    outcome = captured_in_batch(reverted, TOKEN, CONTRACT, MERCHANT)
    assert (outcome.captured, outcome.failed, outcome.amount) == ({}, {}, 0)


CAPTURED = (used(BUYER), moved(BUYER, CONTRACT, 5))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (CAPTURED, "received 5 and forwarded 0"),
        ((*CAPTURED, moved(CONTRACT, MERCHANT, 4)), "received 5 and forwarded 4"),
        ((*CAPTURED, moved(CONTRACT, MERCHANT, 6)), "received 5 and forwarded 6"),
        ((*CAPTURED, moved(CONTRACT, MERCHANT, 5, token=OTHER)), "received 5 and forwarded 0"),
        ((*CAPTURED, moved(CONTRACT, OTHER, 5)), f"paid {OTHER}"),
        ((*CAPTURED, *CAPTURED, moved(CONTRACT, MERCHANT, 10)), "captured twice"),
        ((moved(BUYER, CONTRACT, 5), moved(CONTRACT, MERCHANT, 5)), "without an authorization"),
        ((used(OTHER), moved(BUYER, CONTRACT, 5), moved(CONTRACT, MERCHANT, 5)), "without an authorization"),
        ((used(BUYER, token=OTHER), moved(BUYER, CONTRACT, 5), moved(CONTRACT, MERCHANT, 5)), "without an"),
        ((moved(BUYER, CONTRACT, 5), paid_at_checkout(5), moved(CONTRACT, MERCHANT, 5)), "without an"),
        ((used(BUYER), rejected(OTHER, TEXT), *CAPTURED[1:], moved(CONTRACT, MERCHANT, 5)), "without an"),
        ((moved(CONTRACT, MERCHANT, 5),), "received 0 and forwarded 5"),
        ((), "has no logs of the batch capture"),
        ((rejected(BUYER, TEXT, contract=OTHER),), "has no logs of the batch capture"),
        ((used(BUYER), moved(BUYER, MERCHANT, 5)), "has no logs of the batch capture"),
        (((CONTRACT, rejected(BUYER, TEXT)[1], rejected(BUYER, TEXT)[2][:100]),), "is not a CaptureFailed"),
        (((CONTRACT, rejected(BUYER, TEXT)[1][:2], rejected(BUYER, TEXT)[2]),), "is not a CaptureFailed"),
        (((CONTRACT, rejected(BUYER, TEXT)[1], b""),), "is not a CaptureFailed"),
    ],
)
def test_logs_that_prove_no_batch_are_incomplete(entries: tuple[Entry, ...], message: str) -> None:
    with pytest.raises(Incomplete, match=message):
        read(*entries)


def test_invalid_address_is_rejected_by_name() -> None:
    for position, name in enumerate(("token", "contract", "merchant")):
        addresses = [TOKEN, CONTRACT, MERCHANT]
        addresses[position] = "0x12"
        with pytest.raises(ValueError, match=f"{name}: '0x12' is not an address"):
            captured_in_batch(receipt(), *addresses)
