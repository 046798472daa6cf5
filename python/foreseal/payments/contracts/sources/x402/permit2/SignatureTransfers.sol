// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ISignatureTransfer} from "./ISignatureTransfer.sol";
import {SignedMessages} from "./SignedMessages.sol";

/// Transfers of one token or several by a signature that is used once. A witness is the hash of other data that the
/// owner signs too. The signed spender is the caller.
abstract contract SignatureTransfers is ISignatureTransfer, SignedMessages {
    error InvalidAmount(uint256 maxAmount);
    error LengthMismatch();

    event UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask);

    string private constant FIELDS = "address spender,uint256 nonce,uint256 deadline";
    string private constant TOKEN_PERMISSIONS = "TokenPermissions(address token,uint256 amount)";
    bytes32 private constant TOKEN_PERMISSIONS_TYPEHASH = keccak256(bytes(TOKEN_PERMISSIONS));
    bytes32 private constant SINGLE_TYPEHASH = keccak256(
        abi.encodePacked("PermitTransferFrom(TokenPermissions permitted,", FIELDS, ")", TOKEN_PERMISSIONS)
    );
    bytes32 private constant BATCH_TYPEHASH = keccak256(
        abi.encodePacked("PermitBatchTransferFrom(TokenPermissions[] permitted,", FIELDS, ")", TOKEN_PERMISSIONS)
    );
    string private constant SINGLE_WITNESS_STUB = "PermitWitnessTransferFrom(TokenPermissions permitted,";
    string private constant BATCH_WITNESS_STUB = "PermitBatchWitnessTransferFrom(TokenPermissions[] permitted,";

    /// slot 0: 256 nonces a word, used up in any order; the word is the nonce without its lowest byte.
    mapping(address owner => mapping(uint256 word => uint256 bits)) public nonceBitmap;

    function permitTransferFrom(
        PermitTransferFrom memory permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes calldata signature
    ) external {
        bytes32 permitted = _hash(permit.permitted);
        bytes32 message = keccak256(abi.encode(SINGLE_TYPEHASH, permitted, msg.sender, permit.nonce, permit.deadline));
        _transfer(permit, transferDetails, owner, message, signature);
    }

    function permitWitnessTransferFrom(
        PermitTransferFrom memory permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes32 witness,
        string calldata witnessTypeString,
        bytes calldata signature
    ) external {
        bytes32 typehash = keccak256(abi.encodePacked(SINGLE_WITNESS_STUB, FIELDS, ",", witnessTypeString));
        bytes32 permitted = _hash(permit.permitted);
        bytes32 message =
            keccak256(abi.encode(typehash, permitted, msg.sender, permit.nonce, permit.deadline, witness));
        _transfer(permit, transferDetails, owner, message, signature);
    }

    function permitTransferFrom(
        PermitBatchTransferFrom memory permit,
        SignatureTransferDetails[] calldata transferDetails,
        address owner,
        bytes calldata signature
    ) external {
        bytes32 permitted = _hash(permit.permitted);
        bytes32 message = keccak256(abi.encode(BATCH_TYPEHASH, permitted, msg.sender, permit.nonce, permit.deadline));
        _transfer(permit, transferDetails, owner, message, signature);
    }

    function permitWitnessTransferFrom(
        PermitBatchTransferFrom memory permit,
        SignatureTransferDetails[] calldata transferDetails,
        address owner,
        bytes32 witness,
        string calldata witnessTypeString,
        bytes calldata signature
    ) external {
        bytes32 typehash = keccak256(abi.encodePacked(BATCH_WITNESS_STUB, FIELDS, ",", witnessTypeString));
        bytes32 permitted = _hash(permit.permitted);
        bytes32 message =
            keccak256(abi.encode(typehash, permitted, msg.sender, permit.nonce, permit.deadline, witness));
        _transfer(permit, transferDetails, owner, message, signature);
    }

    /// Use nonces of the caller: those of a word whose bits are set in `mask`.
    function invalidateUnorderedNonces(uint256 wordPos, uint256 mask) external {
        nonceBitmap[msg.sender][wordPos] |= mask;
        emit UnorderedNonceInvalidation(msg.sender, wordPos, mask);
    }

    function _transfer(
        PermitTransferFrom memory permit,
        SignatureTransferDetails calldata details,
        address owner,
        bytes32 message,
        bytes calldata signature
    ) private {
        _requireInTime(permit.deadline);
        if (details.requestedAmount > permit.permitted.amount) revert InvalidAmount(permit.permitted.amount);
        _useNonce(owner, permit.nonce);
        _requireSigned(owner, message, signature);
        _move(permit.permitted.token, owner, details.to, details.requestedAmount);
    }

    function _transfer(
        PermitBatchTransferFrom memory permit,
        SignatureTransferDetails[] calldata details,
        address owner,
        bytes32 message,
        bytes calldata signature
    ) private {
        _requireInTime(permit.deadline);
        if (permit.permitted.length != details.length) revert LengthMismatch();
        _useNonce(owner, permit.nonce);
        _requireSigned(owner, message, signature);
        for (uint256 index = 0; index < details.length; ++index) {
            TokenPermissions memory permitted = permit.permitted[index];
            uint256 requested = details[index].requestedAmount;
            if (requested > permitted.amount) revert InvalidAmount(permitted.amount);
            // The spender need not take all of them.
            if (requested != 0) _move(permitted.token, owner, details[index].to, requested);
        }
    }

    function _useNonce(address owner, uint256 nonce) private {
        uint256 bit = 1 << (nonce & 0xff);
        uint256 used = nonceBitmap[owner][nonce >> 8];
        if (used & bit != 0) revert InvalidNonce();
        nonceBitmap[owner][nonce >> 8] = used | bit;
    }

    function _hash(TokenPermissions memory permitted) private pure returns (bytes32) {
        return keccak256(abi.encode(TOKEN_PERMISSIONS_TYPEHASH, permitted));
    }

    function _hash(TokenPermissions[] memory permitted) private pure returns (bytes32) {
        bytes32[] memory hashes = new bytes32[](permitted.length);
        for (uint256 index = 0; index < permitted.length; ++index) {
            hashes[index] = _hash(permitted[index]);
        }
        return keccak256(abi.encodePacked(hashes));
    }
}
