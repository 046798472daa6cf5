// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Balances} from "./Balances.sol";
import {SigningDomain} from "./SigningDomain.sol";

/// Allowances by a signed message (EIP-2612), with the signature in parts (v, r, s) or as bytes.
abstract contract Permits is Balances, SigningDomain {
    bytes32 public constant PERMIT_TYPEHASH =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");

    /// The nonce that an owner's next permit must have.
    function nonces(address owner) external view returns (uint256) {
        return _permitNonces[owner];
    }

    /// Anybody may submit it. Valid up to `deadline` and at it, seconds since 1970.
    function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external
    {
        _permit(owner, spender, value, deadline, abi.encodePacked(r, s, v));
    }

    function permit(address owner, address spender, uint256 value, uint256 deadline, bytes memory signature)
        external
    {
        _permit(owner, spender, value, deadline, signature);
    }

    function _permit(address owner, address spender, uint256 value, uint256 deadline, bytes memory signature)
        private
        whenNotPaused
    {
        require(block.timestamp <= deadline, "FiatTokenV2: permit is expired");
        // Used before the signature check calls a signer with code.
        uint256 nonce = _permitNonces[owner]++;
        bytes32 messageHash = keccak256(abi.encode(PERMIT_TYPEHASH, owner, spender, value, nonce, deadline));
        require(_isSigned(owner, messageHash, signature), "EIP2612: invalid signature");
        _approve(owner, spender, value);
    }
}
