"""forge: `create`, and `script --broadcast` with transactions that depend on each other."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from libraries.python.flows import KEY, equal, run
from libraries.python.foundry import FOLDER, called, cast, command, sent, stranger

PROJECT = FOLDER / "project"
shutil.copytree(Path(os.environ["LIBRARY_FORGE_PROJECT"]), PROJECT)
# The project is compiled already; forge reads the version of the compiler only.
ROOT = ("--root", str(PROJECT), "--use", os.environ["LIBRARY_SOLC"])


def deploy() -> Any:
    """Deploy by `forge create`, read, write, read."""

    def one() -> None:
        arguments = ("--private-key", KEY, "--broadcast", "--json", *ROOT, "--constructor-args", "7")
        board = json.loads(command("forge", "create", "src/Board.sol:Board", *arguments))["deployedTo"]
        equal(called(board, "value()(uint256)"), 7, "value after deployment")
        sent(board, "set(uint256,string)", "8", "a note", key=KEY)
        equal(called(board, "value()(uint256)"), 8, "value after the write")

    return one


def broadcast(function: str, to: str) -> Any:
    """Run a function of the script; return what forge saved."""
    script = ("script", f"{PROJECT}/script/Dependent.s.sol:Dependent", "--sig", f"{function}()", "--broadcast", *ROOT)
    command("forge", *script, LIBRARY_RECIPIENT=to)
    file = PROJECT / f"broadcast/Dependent.s.sol/31337/{function}-latest.json"
    saved = json.loads(file.read_text())
    equal([receipt["status"] for receipt in saved["receipts"]], ["0x1"] * 3, "status of each receipt")
    return saved


def allowance() -> Any:
    """Deploy, approve and transfer as the spender in one script."""

    def one() -> None:
        to = stranger()
        token = broadcast("allowance", to)["transactions"][0]["contractAddress"]
        equal(called(token, "balanceOf(address)(uint256)", to), 5, "token balance")

    return one


def transfer() -> Any:
    """Transfer three times in one script, then read balance and block."""

    def one() -> None:
        to = stranger()
        receipt = broadcast("transfer", to)["receipts"][-1]
        equal(int(cast("balance", to)), 6, "balance")
        block = json.loads(cast("block", str(int(receipt["blockNumber"], 16)), "--json"))
        equal(receipt["transactionHash"] in block["transactions"], True, "transaction in the block of the receipt")

    return one


if __name__ == "__main__":
    run({"deploy": deploy, "allowance": allowance, "transfer": transfer})
