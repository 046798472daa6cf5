// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";

/// Permit2's signing domain (EIP-712, without a version), and how it checks signatures and moves tokens.
abstract contract SignedMessages {
    error SignatureExpired(uint256 signatureDeadline);
    error InvalidNonce();
    error InvalidSignatureLength();
    error InvalidSignature();
    error InvalidSigner();
    error InvalidContractSignature();

    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,uint256 chainId,address verifyingContract)");
    bytes32 private constant HASHED_NAME = keccak256("Permit2");

    // solhint-disable-next-line func-name-mixedcase
    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(abi.encode(DOMAIN_TYPEHASH, HASHED_NAME, block.chainid, address(this)));
    }

    /// Reverts unless `owner` signed the message. An owner with code checks its signature itself (ERC-1271). The
    /// signature of an owner without code has 65 bytes, or 64 (EIP-2098).
    function _requireSigned(address owner, bytes32 messageHash, bytes calldata signature) internal view {
        bytes32 digest = keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), messageHash));
        if (owner.code.length != 0) {
            bytes4 answer = IERC1271(owner).isValidSignature(digest, signature);
            if (answer != IERC1271.isValidSignature.selector) revert InvalidContractSignature();
            return;
        }
        (uint8 v, bytes32 r, bytes32 s) = _split(signature);
        // Both of two equivalent signatures are valid, because their nonce can be used only once.
        address signer = ecrecover(digest, v, r, s);
        if (signer == address(0)) revert InvalidSignature();
        if (signer != owner) revert InvalidSigner();
    }

    function _requireInTime(uint256 deadline) internal view {
        if (block.timestamp > deadline) revert SignatureExpired(deadline);
    }

    /// An empty response of the token means success; any response except `true` reverts.
    function _move(address token, address from, address to, uint256 amount) internal {
        (bool done, bytes memory answer) =
            token.call(abi.encodeWithSignature("transferFrom(address,address,uint256)", from, to, amount));
        bool yes = answer.length == 0 ? token.code.length != 0 : answer.length >= 32 && abi.decode(answer, (uint256)) == 1;
        require(done && yes, "TRANSFER_FROM_FAILED");
    }

    function _split(bytes calldata signature) private pure returns (uint8 v, bytes32 r, bytes32 s) {
        if (signature.length == 65) {
            return (uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64]));
        }
        if (signature.length != 64) revert InvalidSignatureLength();
        uint256 vs = uint256(bytes32(signature[32:]));
        return (uint8(vs >> 255) + 27, bytes32(signature[:32]), bytes32(vs & (type(uint256).max >> 1)));
    }
}
