// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {ShortString, ShortStrings} from "@openzeppelin/contracts/utils/ShortStrings.sol";

import {TokenStorage} from "./TokenStorage.sol";

/// The domain in which the token's messages are signed (EIP-712), and how their signatures are checked.
abstract contract SigningDomain is TokenStorage {
    using ShortStrings for string;
    using ShortStrings for ShortString;

    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    /// Half the order of secp256k1. Of two equivalent signatures only the lower one is valid (EIP-2).
    uint256 private constant HIGHEST_S = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    /// In the code, not in storage: behind a proxy the version is that of the code.
    ShortString private immutable _version;
    bytes32 private immutable _versionHash;

    /// `tokenVersion` has at most 31 bytes.
    constructor(string memory tokenVersion) {
        _version = tokenVersion.toShortString();
        _versionHash = keccak256(bytes(tokenVersion));
    }

    function version() external view returns (string memory) {
        return _version.toString();
    }

    // solhint-disable-next-line func-name-mixedcase
    function DOMAIN_SEPARATOR() external view returns (bytes32) {
        return _domainSeparator();
    }

    /// Computed each time, because after a fork of the chain its id is another one.
    function _domainSeparator() internal view returns (bytes32) {
        return keccak256(
            abi.encode(DOMAIN_TYPEHASH, keccak256(bytes(name)), _versionHash, block.chainid, address(this))
        );
    }

    /// Returns `true` if `signer` signed the message. A signer with code checks its signature itself (ERC-1271).
    ///
    /// A malformed signature of an account without code reverts with a string that describes the fault.
    function _isSigned(address signer, bytes32 messageHash, bytes memory signature) internal view returns (bool) {
        bytes32 digest = keccak256(abi.encodePacked("\x19\x01", _domainSeparator(), messageHash));
        if (signer.code.length == 0) return _recover(digest, signature) == signer;
        (bool answered, bytes memory answer) =
            signer.staticcall(abi.encodeCall(IERC1271.isValidSignature, (digest, signature)));
        return answered && answer.length >= 32
            && abi.decode(answer, (bytes32)) == bytes32(IERC1271.isValidSignature.selector);
    }

    function _recover(bytes32 digest, bytes memory signature) private pure returns (address signer) {
        require(signature.length == 65, "ECRecover: invalid signature length");
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly ("memory-safe") {
            r := mload(add(signature, 0x20))
            s := mload(add(signature, 0x40))
            v := byte(0, mload(add(signature, 0x60)))
        }
        require(uint256(s) <= HIGHEST_S, "ECRecover: invalid signature 's' value");
        require(v == 27 || v == 28, "ECRecover: invalid signature 'v' value");
        signer = ecrecover(digest, v, r, s);
        require(signer != address(0), "ECRecover: invalid signature");
    }
}
