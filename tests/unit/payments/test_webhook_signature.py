"""Signatures of webhooks: those of the published library and the vector of the specification are equal to ours."""

import base64
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook

from foreseal.payments.api.webhook_signature import (
    InvalidWebhookSignature,
    decode_secret,
    decode_secrets,
    new_secret,
    sign,
    verify,
)

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
OTHER = "whsec_" + base64.b64encode(bytes(range(1, 33))).decode()
TIME = 1_795_338_559


def test_vector_of_the_specification() -> None:
    # https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'
    id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
    headers = sign([decode_secret(secret)], id, 1_614_265_330, body)
    assert headers == {
        "webhook-id": id,
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    verify(secret, headers, body, 1_614_265_330)


@given(st.binary(min_size=24, max_size=64), st.text(), st.integers(0, 2**33))
def test_library_signs_equally(key: bytes, text: str, time: int) -> None:
    secret = "whsec_" + base64.b64encode(key).decode()
    body = text.encode(errors="replace")
    headers = sign([decode_secret(secret)], "evt_1", time, body)
    assert headers["webhook-signature"] == Webhook(secret).sign(
        "evt_1", datetime.fromtimestamp(time, UTC), body.decode()
    )
    verify(secret, headers, body, time)


def test_each_of_two_secrets_verifies() -> None:
    headers = sign([decode_secret(SECRET), decode_secret(OTHER)], "evt_1", TIME, b"{}")
    for secret in (SECRET, OTHER):
        verify(secret, headers, b"{}", TIME)
    with pytest.raises(InvalidWebhookSignature):
        verify(new_secret(), headers, b"{}", TIME)


def test_altered_or_old_webhook_is_rejected() -> None:
    good = sign([decode_secret(SECRET)], "evt_1", TIME, b"body")
    verify(SECRET, good, b"body", TIME + 300)
    verify(SECRET, good, b"body", TIME - 300)
    wrong: list[tuple[str, dict[str, str], bytes, float, str]] = [
        (OTHER, good, b"body", TIME, "no signature matches"),
        (SECRET, good, b"bodx", TIME, "no signature matches"),
        (SECRET, good | {"webhook-id": "evt_2"}, b"body", TIME, "no signature matches"),
        (SECRET, good | {"webhook-timestamp": str(TIME + 1)}, b"body", TIME, "no signature matches"),
        (SECRET, good | {"webhook-signature": "v1a" + good["webhook-signature"][2:]}, b"body", TIME, "no signature"),
        (SECRET, good | {"webhook-signature": "v1,ü\ud800"}, b"body", TIME, "no signature matches"),
        (SECRET, good, b"body", TIME + 301, "is 301 s old"),
        (SECRET, good, b"body", TIME - 301, "is -301 s old"),
        (SECRET, good | {"webhook-timestamp": "x"}, b"body", TIME, "must be a time in seconds"),
        (SECRET, good | {"webhook-timestamp": "1" * 13}, b"body", TIME, "must be a time in seconds"),
        *((SECRET, good | {name: ""}, b"body", TIME, f"{name}: the header is missing") for name in good),
        (SECRET, {}, b"body", TIME, "webhook-id: the header is missing"),
    ]
    for secret, headers, body, now, message in wrong:
        with pytest.raises(InvalidWebhookSignature, match=message):
            verify(secret, headers, body, now)


def test_new_secrets_are_random_and_valid() -> None:
    secrets = {new_secret() for _ in range(10)}
    assert len(secrets) == 10
    assert {len(decode_secret(secret)) for secret in secrets} == {32}


@pytest.mark.parametrize(
    ("secret", "message"),
    [
        ("ab" * 32, "does not begin with whsec_"),
        ("whsec_", "it has 0"),
        ("whsec_" + base64.b64encode(b"a" * 23).decode(), "24 to 64 bytes; it has 23"),
        ("whsec_" + base64.b64encode(b"a" * 65).decode(), "it has 65"),
        ("whsec_" + "a*" * 20, "is not base64"),
        ("whsec_" + "A" * 41, "is not base64"),
        ("whsec_ü" + "A" * 40, "is not base64"),
    ],
)
def test_invalid_secret_is_explained_without_its_text(secret: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        decode_secret(secret)
    assert len(secret) < 10 or secret[7:] not in str(error.value)


def test_text_with_a_new_and_a_previous_secret() -> None:
    assert decode_secrets(SECRET) == (SECRET,)
    assert decode_secrets(f"{OTHER}\n{SECRET}") == (OTHER, SECRET)
    for text in ("", f"{SECRET} {SECRET} {SECRET}", f"{SECRET} old"):
        with pytest.raises(ValueError, match="secret"):
            decode_secrets(text)
