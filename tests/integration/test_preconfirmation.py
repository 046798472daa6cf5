"""Receipts of pre-confirmations against independent libraries, and the module's own results for them."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
import rlp
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_hash.auto import keccak
from hexbytes import HexBytes
from trie import HexaryTrie

from foreseal.preconfirmation import (
    Contradiction,
    PreconfirmationError,
    contradiction,
    step_signer,
    verify_preconfirmation,
)
from foreseal.testing import Chain, ChainSettings

TYPES = {
    "Flashblock": [
        {"name": "number", "type": "uint64"},
        {"name": "index", "type": "uint64"},
        {"name": "hash", "type": "bytes32"},
        {"name": "previous", "type": "bytes32"},
        {"name": "time", "type": "uint64"},
    ]
}
TRANSACTIONS_ROOT, NUMBER = 4, 8
"""Positions in a header."""


@pytest.fixture
def chain() -> Iterator[Chain]:
    with Chain(ChainSettings(accounts=3, automine=False)) as chain:
        yield chain


def pay(chain: Chain, value: int, sender: int = 0) -> str:
    """Send to the second account, outside of any step yet; return the hash."""
    account = chain.accounts[sender]
    transfer = {
        "to": chain.accounts[1].address,
        "value": value,
        "nonce": int(chain.rpc("eth_getTransactionCount", account, "pending"), 16),
        "gas": 21_000,
        "maxFeePerGas": 10**10,
        "maxPriorityFeePerGas": 1,
        "chainId": chain.settings.chain_id,
    }
    return str(chain.rpc("eth_sendRawTransaction", account.signer().sign_transaction(transfer).raw_transaction))


def promised(chain: Chain, steps: int = 4) -> list[dict[str, Any]]:
    """Return receipts of several steps, the later ones with several transactions."""
    sent = []
    for step in range(steps):
        sent += [pay(chain, value, sender) for value in range(step + 1) for sender in (0, 2)]
        chain.step()
    return [chain.rpc("foreseal_preconfirmation", hash_) for hash_ in sent]


def recovered(chain_id: int, number: str, index: str, hash_: str, previous: str, time: str, signature: str) -> str:
    """Return the signer of a step, by eth-account."""
    domain = {"name": "Foreseal", "version": "1", "chainId": chain_id}
    message = {
        "number": int(number, 16),
        "index": int(index, 16),
        "hash": HexBytes(hash_),
        "previous": HexBytes(previous),
        "time": int(time, 16),
    }
    return str(Account.recover_message(encode_typed_data(domain, TYPES, message), signature=signature)).lower()


def test_eth_account_recovers_the_signer_of_every_step(chain: Chain) -> None:
    receipts = promised(chain)
    signer = chain.rpc("foreseal_status")["signer"]
    assert len({receipt["hash"] for receipt in receipts}) == 4
    for receipt in receipts:
        assert receipt["signer"] == signer
        names = ("blockNumber", "flashblockIndex", "hash", "previous", "time", "signature")
        assert recovered(int(receipt["chainId"], 16), *(receipt[name] for name in names)) == signer


def test_the_feed_has_the_signature_of_every_step(chain: Chain) -> None:
    begin = chain.rpc("foreseal_getFlashblocks", None)["cursor"]
    promised(chain, 3)
    chain.mine(2)
    pay(chain, 1)
    chain.step()
    messages = chain.rpc("foreseal_getFlashblocks", begin)["flashblocks"]
    assert len(messages) >= 6
    signer, chain_id = chain.rpc("foreseal_status")["signer"], chain.settings.chain_id
    names = ("number", "index", "hash", "parent", "time", "signature")
    for message in messages:
        assert step_signer(message, chain_id) == signer
        assert recovered(chain_id, *(message[name] for name in names)) == signer
        assert step_signer(message | {"time": "0x1"}, chain_id) != signer
        for sent in message["transactions"]:
            receipt = chain.rpc("foreseal_preconfirmation", sent["hash"])
            for ours, theirs in zip(names[2:], ("hash", "previous", "time", "signature"), strict=True):
                assert message[ours] == receipt[theirs]
    for name, value in [("signature", None), ("signature", "0x" + "00" * 65), ("time", "0x01"), ("hash", "0x00")]:
        with pytest.raises(PreconfirmationError) as error:
            step_signer(messages[0] | {name: value}, chain_id)
        assert error.value.field == name


def test_header_and_proof_are_valid_in_other_libraries(chain: Chain) -> None:
    for receipt in promised(chain):
        raw = bytes.fromhex(receipt["header"][2:])
        header = rlp.decode(raw)
        assert "0x" + keccak(raw).hex() == receipt["hash"]
        assert int.from_bytes(header[NUMBER]) == int(receipt["blockNumber"], 16)
        proof = [rlp.decode(bytes.fromhex(node[2:])) for node in receipt["proof"]]
        key = rlp.encode(int(receipt["transactionIndex"], 16))
        transaction = HexaryTrie.get_from_proof(header[TRANSACTIONS_ROOT], key, proof)
        assert "0x" + transaction.hex() == receipt["transaction"]
        assert "0x" + keccak(transaction).hex() == receipt["transactionHash"]


def test_receipt_matches_its_commitment(chain: Chain) -> None:
    [receipt] = promised(chain, 1)[:1]
    signer = chain.rpc("foreseal_status")["signer"]
    shown = verify_preconfirmation(receipt, signer, chain_id=chain.settings.chain_id)
    assert (shown.number, shown.index, shown.signer) == (1, 1, signer)
    assert shown.transaction_hash == receipt["transactionHash"]
    assert shown.time == chain.settings.time * 1000
    for form in (orjson.dumps(receipt), orjson.dumps(receipt).decode(), receipt):
        assert verify_preconfirmation(form) == shown
    chain.mine()
    assert chain.rpc("foreseal_preconfirmation", shown.transaction_hash) == receipt


def test_changed_commitment_names_the_mismatched_field(chain: Chain) -> None:
    [receipt] = promised(chain, 1)[:1]
    for changes, field in [
        ({"time": "0x1"}, "signature"),
        ({"signer": "0x" + "00" * 20}, "signature"),
        ({"blockNumber": "0x7"}, "blockNumber"),
        ({"transactionIndex": "0x7"}, "proof"),
        ({"header": "0x"}, "header"),
        ({"proof": None}, "receipt"),
    ]:
        with pytest.raises(PreconfirmationError) as error:
            verify_preconfirmation(receipt | changes)
        assert error.value.field == field
        assert str(error.value) == f"{field}: {error.value.reason}"
    with pytest.raises(PreconfirmationError, match=r"signer: 0x.* has signed, not 0x"):
        verify_preconfirmation(receipt, "0x" + "11" * 20)
    with pytest.raises(PreconfirmationError, match="chainId: it is 31337, not 1"):
        verify_preconfirmation(receipt, chain_id=1)
    for no_address in ("0x12", "11" * 20, "0x" + "1g" * 20):
        with pytest.raises(ValueError, match="is not an address"):
            verify_preconfirmation(receipt, no_address)
    for no_receipt in (b"", "[]", {1: 2}, {"chainId": {1, 2}}):
        with pytest.raises(PreconfirmationError, match=r"^receipt: "):
            verify_preconfirmation(no_receipt)  # type: ignore[arg-type]


def test_conflicting_signatures_of_a_sequencer_are_reported(chain: Chain) -> None:
    with chain.rollback():
        kept = promised(chain, 2)
    assert contradiction(kept[0], kept[-1]) is None
    pay(chain, 99)
    chain.step()
    sent = pay(chain, 5)
    chain.step()
    broken = chain.rpc("foreseal_preconfirmation", sent)
    evidence = contradiction(kept[-1], broken)
    assert evidence is not None
    assert evidence.contradiction is Contradiction.TWO_STEPS
    assert evidence.signer == chain.rpc("foreseal_status")["signer"]
    assert [promise.hash for promise in evidence.promises] == [kept[-1]["hash"], broken["hash"]]
    evidence = contradiction(kept[0], broken)
    assert evidence is not None
    assert evidence.contradiction is Contradiction.BROKEN_ORDER
    with pytest.raises(PreconfirmationError, match=r"^receipt 2: signature: ") as error:
        contradiction(kept[0], broken | {"time": "0x0"})
    assert error.value.which == 1
