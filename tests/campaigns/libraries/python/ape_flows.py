"""eth-ape, with its core plugins only."""
# ruff: noqa: E402 - the library reads its folder when it is imported.

import json
import os
import tempfile
from pathlib import Path
from typing import Any

# Accounts and configuration of this run only. The network `local` has chain ID 1337, so the chain needs its own entry.
folder = Path(tempfile.mkdtemp(prefix="ape-"))
os.environ["APE_DATA_FOLDER"] = os.environ["HOME"] = str(folder)
network = {"name": "foreseal", "chain_id": 31337, "ecosystem": "ethereum", "default_provider": "node"}
config = {
    "networks": {"custom": [{**network, "base_ecosystem_plugin": "ethereum"}]},
    "node": {"ethereum": {"foreseal": {"uri": os.environ["FORESEAL_URL"]}}},
}
# JSON is YAML.
(folder / "ape-config.yaml").write_text(json.dumps(config))

from ape import networks
from ape.contracts import ContractContainer
from ape_accounts import import_account_from_private_key
from eth_account import Account
from ethpm_types import ContractType

from libraries.python.flows import KEY, SPENDER_KEY, contract, equal, run, until

PASSPHRASE = "a passphrase"


def account(alias: str, key: str) -> Any:
    """Import a key and return its account."""
    imported = import_account_from_private_key(alias, PASSPHRASE, key)
    imported.set_autosign(True, PASSPHRASE)
    return imported


def container(name: str) -> Any:
    """Return a contract that can be deployed."""
    abi, bytecode = contract(name)
    fields = {"abi": abi, "deploymentBytecode": {"bytecode": bytecode}, "contractName": name}
    return ContractContainer(ContractType.model_validate_json(json.dumps(fields)))


def stranger() -> str:
    """Return a new address."""
    return str(Account.create().address)


def deploy() -> Any:
    """Deploy, read, write, read."""
    board = container("Board")

    def one() -> None:
        made = owner.deploy(board, 7)
        equal(made.value(), 7, "value after deployment")
        made.set(8, "a note", sender=owner)
        equal(made.value(), 8, "value after the write")

    return one


def allowance() -> Any:
    """Approve, then transfer as the spender."""
    token = owner.deploy(container("Token"), 10**12)
    until(lambda: networks.provider.get_code(token.address))

    def one() -> None:
        to = stranger()
        token.approve(spender, 5, sender=owner)
        token.transferFrom(owner, to, 5, sender=spender)
        equal(token.balanceOf(to), 5, "token balance")

    return one


def transfer() -> Any:
    """Transfer, then read balance and block."""

    def one() -> None:
        to = stranger()
        receipt = owner.transfer(to, 7)
        equal(networks.provider.get_balance(to), 7, "balance")
        hashes = [bytes(each.txn_hash).hex() for each in networks.provider.get_block(receipt.block_number).transactions]
        equal(len(hashes) > 0, True, "block of the receipt has transactions")

    return one


def confirmations() -> Any:
    """Wait by the option of a transaction."""

    def wait(count: int) -> None:
        receipt = owner.transfer(owner, 1, required_confirmations=count)
        newest = networks.provider.get_block("latest").number
        equal(newest - receipt.block_number >= count - 1, True, "enough confirmations")

    return [lambda: wait(1), lambda: wait(2)]


if __name__ == "__main__":
    with networks.parse_network_choice("ethereum:foreseal:node"):
        owner, spender = account("owner", KEY), account("spender", SPENDER_KEY)
        run({"deploy": deploy, "allowance": allowance, "transfer": transfer, "confirmations": confirmations})
