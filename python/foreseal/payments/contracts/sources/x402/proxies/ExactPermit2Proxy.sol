// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISignatureTransfer} from "../permit2/ISignatureTransfer.sol";
import {Permit2Proxy} from "./Permit2Proxy.sol";

/// x402's scheme `exact` over Permit2: exactly what the payer signed, to the payee that the payer signed.
contract ExactPermit2Proxy is Permit2Proxy {
    struct Witness {
        address to;
        uint256 validAfter;
    }

    string public constant WITNESS_TYPE_STRING =
        "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,uint256 validAfter)";
    bytes32 public constant WITNESS_TYPEHASH = keccak256("Witness(address to,uint256 validAfter)");

    constructor(address permit2) Permit2Proxy(permit2) {}

    function settle(
        ISignatureTransfer.PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external nonReentrant {
        _settle(permit, owner, witness, signature);
        emit Settled();
    }

    function settleWithPermit(
        EIP2612Permit calldata permit2612,
        ISignatureTransfer.PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external nonReentrant {
        _approve(permit.permitted.token, owner, permit2612, permit.permitted.amount);
        _settle(permit, owner, witness, signature);
        emit SettledWithPermit();
    }

    function _settle(
        ISignatureTransfer.PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) private {
        bytes32 hash = keccak256(abi.encode(WITNESS_TYPEHASH, witness));
        uint256 amount = permit.permitted.amount;
        _pay(permit, amount, owner, witness.to, witness.validAfter, hash, WITNESS_TYPE_STRING, signature);
    }
}
