"""The node as signer of the package's facilitator schemes: reads at `pending`, and writes as intents.

The schemes are the package's, unmodified. They need a signer that reads contracts, sends a transaction and waits for
its receipt. This signer reads pre-confirmed state, and passes each transaction to `Settlements`, which stores it before
it is sent.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn, Protocol, TypeVar

from eth_abi.abi import decode
from eth_utils.abi import collapse_if_tuple
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from x402.mechanisms.evm.data_suffix import append_data_suffix
from x402.mechanisms.evm.multicall import encode_contract_call
from x402.mechanisms.evm.types import TransactionReceipt, TypedDataDomain, TypedDataField
from x402.mechanisms.evm.verify import verify_typed_data_strict

from foreseal.payments.chain import (
    ChainNode,
    ChainReceipt,
    CodeTimeout,
    NoResponse,
    Reverted,
    TemporaryRejection,
    Token,
)
from foreseal.payments.contracts import load
from foreseal.payments.transactions import GasBudgetSpent, GasTooHigh, SendingError

GAS_BUDGET_SPENT = "gas_budget_spent"
"""Error reason of a payer whose reverts cost its budget of gas."""

_BLOCK = "pending"
_CONTRACTS = ("Permit2", "ExactPermit2Proxy", "UptoPermit2Proxy", "BatchSettlement", "PaymentToken")


class ContractReverted(Exception):
    """A call or transaction would revert. The schemes search the message for error names and revert strings."""


@dataclass(frozen=True, slots=True)
class SignerRejection:
    """Reason against a payment."""

    reason: str
    """Error reason in `snake_case`."""
    message: str


class SettlementSubmitter(Protocol):
    """Destination of a scheme's transaction."""

    def submit(self, target: str, data: bytes) -> str:
        """Store and send the transaction. Return its hash. Raises `Reverted` if it would revert."""
        ...

    def receipt(self) -> ChainReceipt:
        """Wait for the receipt, and return it. Raises TimeoutError."""
        ...


class NodeSigner:
    """Implementation of the package's `FacilitatorEvmSigner` for one payment. Without a submitter it sends nothing."""

    def __init__(self, node: ChainNode, account: str, submitter: SettlementSubmitter | None = None) -> None:
        self._node = node
        self._account = account
        self._submitter = submitter
        self._failure: NoResponse | CodeTimeout | TemporaryRejection | SendingError | None = None

    def rejection(self) -> SignerRejection | None:
        """Return the reason against the payment that only this signer knows.

        Raises the last failure of node or sender, if there was one: the schemes report it as an invalid payment.
        """
        match self._failure:
            case None:
                return None
            case GasTooHigh() as error:
                return SignerRejection("gas_too_high", str(error))
            case GasBudgetSpent() as error:
                return SignerRejection(GAS_BUDGET_SPENT, str(error))
            case CodeTimeout() as error:
                return SignerRejection("code_timeout", str(error))
        raise self._failure

    def get_addresses(self) -> list[str]:
        """Return the account that pays the gas."""
        return [self._account]

    def get_chain_id(self) -> int:
        """Return the node's chain id."""
        with self._noting_failure():
            return self._node.chain_id()

    def get_code(self, address: str) -> bytes:
        """Return the code of an account."""
        with self._noting_failure():
            return self._node.code(to_checksum_address(address), _BLOCK)

    def get_balance(self, address: str, token_address: str) -> int:
        """Return the balance of a token in smallest units."""
        with self._noting_failure():
            return Token(self._node, to_checksum_address(token_address)).balance(to_checksum_address(address), _BLOCK)

    def read_contract(self, address: str, abi: list[dict[str, Any]], function_name: str, *args: Any) -> Any:
        """Call a function as the facilitator's account. Return a single value directly, several as a tuple.

        Raises `ContractReverted` and the node's errors.
        """
        data = encode_contract_call(abi, function_name, *args)
        with self._noting_failure():
            returned = _explained(lambda: self._node.call(to_checksum_address(address), data, _BLOCK, self._account))
        outputs = next(entry["outputs"] for entry in abi if entry.get("name") == function_name)
        values = decode([collapse_if_tuple(output) for output in outputs], returned)
        return values[0] if len(values) == 1 else values

    def verify_typed_data(
        self,
        address: str,
        domain: TypedDataDomain,
        types: dict[str, list[TypedDataField]],
        primary_type: str,
        message: dict[str, object],
        signature: bytes,
    ) -> bool:
        """Return True if the token would accept a signature of this account (EIP-712, ERC-1271)."""
        return verify_typed_data_strict(self, address, domain, types, primary_type, message, signature)  # type: ignore[arg-type]

    def write_contract(
        self,
        address: str,
        abi: list[dict[str, object]],
        function_name: str,
        *args: object,
        data_suffix: str | None = None,
    ) -> str:
        """Submit a settlement and return its hash.

        Raises `ContractReverted` if it would revert; nothing is sent then.
        """
        submitter = self._submitter
        if submitter is None:
            self._refuse()
        data = encode_contract_call(abi, function_name, *args)
        if data_suffix:
            data = bytes.fromhex(append_data_suffix("0x" + data.hex(), data_suffix).removeprefix("0x"))
        with self._noting_failure():
            return str(_explained(lambda: submitter.submit(to_checksum_address(address), data)))

    def send_transaction(self, to: str, data: bytes) -> str:
        """Raise RuntimeError: no wallets are created here."""
        self._refuse()

    def wait_for_transaction_receipt(self, tx_hash: str) -> TransactionReceipt:
        """Return the receipt of the settlement, pre-confirmed or in a block. Raises TimeoutError."""
        if self._submitter is None:
            self._refuse()
        receipt = self._submitter.receipt()
        return TransactionReceipt(
            int(receipt.succeeded), receipt.block_number, receipt.transaction_hash, list(receipt.logs)
        )

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        try:
            yield
        except (NoResponse, CodeTimeout, TemporaryRejection, SendingError) as error:
            self._failure = error
            raise

    def _refuse(self) -> NoReturn:
        raise RuntimeError("only settlements are sent")


_Result = TypeVar("_Result")


def _explained(act: Callable[[], _Result]) -> _Result:
    try:
        return act()
    except Reverted as error:
        named = _errors().get(error.data[:4])
        raise ContractReverted(f"execution reverted: {named or error.reason}") from error


@cache
def _errors() -> dict[bytes, str]:
    """Return names of the contracts' errors by selector. Nodes return only the bytes."""
    names_by_selector: dict[bytes, str] = {}
    for contract in _CONTRACTS:
        for entry in load(contract).abi:
            if entry["type"] == "error":
                names_by_selector[keccak(text=f"{entry['name']}({','.join(_types(entry['inputs']))})")[:4]] = entry[
                    "name"
                ]
    return names_by_selector


def _types(parameters: Sequence[dict[str, object]]) -> list[str]:
    return [collapse_if_tuple(parameter) for parameter in parameters]
