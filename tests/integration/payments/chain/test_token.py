"""Selectors, topics and the domain separator, computed."""

from eth_account.messages import encode_typed_data
from eth_utils.crypto import keccak

from foreseal.payments.chain import batch_capture, checkout, token
from foreseal.payments.typed_data import Domain, Permit
from payments.shop import ADDRESS, BUYER


def test_each_selector_is_the_hash_of_its_signature() -> None:
    for module in (token, checkout, batch_capture):
        constants = {value for name, value in vars(module).items() if name.isupper() and isinstance(value, bytes)}
        assert {value for value in constants if len(value) == 4} == set(module.SIGNATURES)
        for selector, text in module.SIGNATURES.items():
            assert keccak(text=text)[:4] == selector, text


def test_topics_equal_those_of_deployed_contracts() -> None:
    assert token.TRANSFERRED.hex() == "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    assert token.AUTHORIZATION_USED.hex() == "98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
    assert token.CANCELED.hex() == "1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81"
    assert keccak(text="Memo(address,bytes32)") == token.MEMO
    assert keccak(text="PaymentCaptured(bytes32,address,uint256,uint256)") == token.PAYMENT_CAPTURED
    assert keccak(text="PayoutSent(bytes32,address,address,uint256)") == token.PAYOUT_SENT


def test_domain_separator_follows_eip_712() -> None:
    domain = Domain("USD Coin", "2", 84532, ADDRESS)
    message = Permit(BUYER.address, ADDRESS, 1, 0, 1)
    signable = encode_typed_data(full_message=message.typed_data(domain))
    assert domain.separator() == signable.header
