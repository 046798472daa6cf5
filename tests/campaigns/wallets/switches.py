"""Wallets that change between the check of a payment and its transaction, by transactions of third parties."""

from typing import Any

from payments.fake.contracts import TOKEN
from payments.fake.node import Disturbed
from payments.real.chain import RealChain
from wallets import bytecode
from wallets.kinds import Code, Form, PendingHead, WalletKind
from wallets.people import SPONSOR, Payer

_GAS, _FEE = 300_000, 10**12
_NOBODY = "0x" + "00" * 20
_ELSEWHERE = "0x" + "99" * 20
"""Recipient of tokens that a payer spends elsewhere."""


class Switches:
    """Code of wallets, and the change that is due when the next transaction is sent."""

    def __init__(self, chain: RealChain, node: Disturbed) -> None:
        self._chain, self._node = chain, node
        self._targets: dict[bytes, str] = {}
        """Contracts to which wallets delegate, by their code."""
        self._switched = False

    def install(self, payer: Payer, kind: WalletKind, pending_head: PendingHead) -> None:
        """Give a wallet its first code, and create the contracts to which it delegates later."""
        if kind.switched is not None:
            self._contract(kind.switched(payer.key.address, pending_head))
        if kind.form is Form.DELEGATED:
            self._delegate(payer, self._contract(kind.code(payer.key.address, pending_head)))
        elif kind.form is Form.CONTRACT and kind.switched is not None:
            self._set_code(payer.address, bytecode.switchable())
            self._point(payer, kind.code, pending_head)
        elif kind.form is Form.CONTRACT:
            self._set_code(payer.address, kind.code(payer.key.address, pending_head))

    def arm(self, payer: Payer, kind: WalletKind, pending_head: PendingHead) -> None:
        """Let the wallet change directly before the next transaction reaches the node."""
        if not kind.changes:
            return
        self._switched = False

        def before(method: str) -> None:
            if method == "eth_sendRawTransaction" and not self._switched:
                self._switched = True
                self._switch(payer, kind, pending_head)
            elif method == "eth_getCode" and self._switched and kind.returns:
                self._chain.step()
                self._switched = False
                self.restore(payer, kind, pending_head)

        self._node.hook = before

    def disarm(self) -> None:
        self._node.hook = None

    def _switch(self, payer: Payer, kind: WalletKind, pending_head: PendingHead) -> None:
        if kind.spends:
            amount = self._chain.pending.state.balances.get(payer.address.lower())
            self._send(payer.address, TOKEN, bytecode.transfer_data(_ELSEWHERE, amount))
        if kind.switched is not None:
            self._change(payer, kind.form, kind.switched, pending_head)
        if kind.waits:
            self._chain.mine()
        self._chain.step()

    def restore(self, payer: Payer, kind: WalletKind, pending_head: PendingHead) -> None:
        """Let the wallet change back to its first code."""
        self._change(payer, kind.form, kind.code, pending_head)
        self._chain.step()

    def _change(self, payer: Payer, form: Form, code: Code, pending_head: PendingHead) -> None:
        if form is Form.CONTRACT:
            self._point(payer, code, pending_head)
        else:
            runtime = code(payer.key.address, pending_head)
            self._delegate(payer, self._contract(runtime) if runtime else _NOBODY)

    def _point(self, payer: Payer, code: Code, pending_head: PendingHead) -> None:
        """Set the contract to which a switchable wallet delegates."""
        target = self._contract(code(payer.key.address, pending_head))
        self._send(SPONSOR.address, payer.address, bytes.fromhex(target[2:]).rjust(32, b"\0"))
        self._chain.step()

    def _delegate(self, payer: Payer, target: str) -> None:
        """Sign and send a delegation (EIP-7702)."""
        authorization = payer.key.sign_authorization(
            {"chainId": self._chain.chain_id, "address": target, "nonce": self._count(payer.address)}
        )
        fields: dict[str, Any] = {
            "type": 4,
            "chainId": self._chain.chain_id,
            "nonce": self._count(SPONSOR.address),
            "to": _ELSEWHERE,
            "value": 0,
            "data": b"",
            "gas": _GAS,
            "maxFeePerGas": _FEE,
            "maxPriorityFeePerGas": _FEE,
            "authorizationList": [authorization],
        }
        raw = SPONSOR.sign_transaction(fields).raw_transaction
        self._chain.rpc("eth_sendRawTransaction", "0x" + bytes(raw).hex())
        self._chain.step()

    def _send(self, sender: str, to: str, data: bytes) -> None:
        fees = {"gas": hex(_GAS), "maxFeePerGas": hex(_FEE), "maxPriorityFeePerGas": hex(_FEE)}
        call = {"from": sender, "to": to, "data": "0x" + data.hex(), **fees}
        self._chain.rpc("eth_sendTransaction", call)

    def _contract(self, runtime: bytes) -> str:
        """Return the address of a contract with this code, which is created at first."""
        if runtime not in self._targets:
            self._targets[runtime] = f"0x{(0xD00D << 64) + len(self._targets):040x}"
            self._set_code(self._targets[runtime], runtime)
        return self._targets[runtime]

    def _set_code(self, address: str, runtime: bytes) -> None:
        self._chain.rpc("anvil_setCode", address, "0x" + runtime.hex())

    def _count(self, address: str) -> int:
        return int(self._chain.rpc("eth_getTransactionCount", address, "pending"), 16)
