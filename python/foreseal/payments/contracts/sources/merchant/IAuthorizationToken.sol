// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Receipt by a signed message (EIP-3009) with the signature in parts.
interface IReceiveByParts {
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external;
}

/// The same with the signature as bytes. An interface of its own, because `abi.encodeCall` accepts no overloaded name.
interface IReceiveByBytes {
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external;
}
