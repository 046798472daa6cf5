// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {SignedMessages} from "./SignedMessages.sol";

/// Allowances that end: given by the owner or by a signature, to one spender for one token.
abstract contract AllowanceTransfers is SignedMessages {
    struct PermitDetails {
        address token;
        uint160 amount;
        /// Seconds since 1970; 0 is the block that takes the allowance.
        uint48 expiration;
        uint48 nonce;
    }

    struct PermitSingle {
        PermitDetails details;
        address spender;
        uint256 sigDeadline;
    }

    struct PermitBatch {
        PermitDetails[] details;
        address spender;
        uint256 sigDeadline;
    }

    struct PackedAllowance {
        uint160 amount;
        uint48 expiration;
        uint48 nonce;
    }

    struct TokenSpenderPair {
        address token;
        address spender;
    }

    struct AllowanceTransferDetails {
        address from;
        address to;
        uint160 amount;
        address token;
    }

    error AllowanceExpired(uint256 deadline);
    error InsufficientAllowance(uint256 amount);
    error ExcessiveInvalidation();

    event NonceInvalidation(
        address indexed owner, address indexed token, address indexed spender, uint48 newNonce, uint48 oldNonce
    );
    event Approval(
        address indexed owner, address indexed token, address indexed spender, uint160 amount, uint48 expiration
    );
    event Permit(
        address indexed owner,
        address indexed token,
        address indexed spender,
        uint160 amount,
        uint48 expiration,
        uint48 nonce
    );
    event Lockdown(address indexed owner, address token, address spender);

    string private constant DETAILS = "PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)";
    bytes32 private constant DETAILS_TYPEHASH = keccak256(bytes(DETAILS));
    bytes32 private constant SINGLE_TYPEHASH =
        keccak256(abi.encodePacked("PermitSingle(PermitDetails details,address spender,uint256 sigDeadline)", DETAILS));
    bytes32 private constant BATCH_TYPEHASH = keccak256(
        abi.encodePacked("PermitBatch(PermitDetails[] details,address spender,uint256 sigDeadline)", DETAILS)
    );

    /// slot 1
    mapping(address owner => mapping(address token => mapping(address spender => PackedAllowance))) public allowance;

    function approve(address token, address spender, uint160 amount, uint48 expiration) external {
        PackedAllowance storage allowed = allowance[msg.sender][token][spender];
        allowed.amount = amount;
        allowed.expiration = _end(expiration);
        emit Approval(msg.sender, token, spender, amount, expiration);
    }

    function permit(address owner, PermitSingle memory permitSingle, bytes calldata signature) external {
        _requireInTime(permitSingle.sigDeadline);
        bytes32 details = _hash(permitSingle.details);
        bytes32 message =
            keccak256(abi.encode(SINGLE_TYPEHASH, details, permitSingle.spender, permitSingle.sigDeadline));
        _requireSigned(owner, message, signature);
        _update(permitSingle.details, owner, permitSingle.spender);
    }

    function permit(address owner, PermitBatch memory permitBatch, bytes calldata signature) external {
        _requireInTime(permitBatch.sigDeadline);
        bytes32[] memory hashes = new bytes32[](permitBatch.details.length);
        for (uint256 index = 0; index < hashes.length; ++index) {
            hashes[index] = _hash(permitBatch.details[index]);
        }
        bytes32 details = keccak256(abi.encodePacked(hashes));
        bytes32 message =
            keccak256(abi.encode(BATCH_TYPEHASH, details, permitBatch.spender, permitBatch.sigDeadline));
        _requireSigned(owner, message, signature);
        for (uint256 index = 0; index < hashes.length; ++index) {
            _update(permitBatch.details[index], owner, permitBatch.spender);
        }
    }

    function transferFrom(address from, address to, uint160 amount, address token) external {
        _transfer(from, to, amount, token);
    }

    function transferFrom(AllowanceTransferDetails[] calldata transferDetails) external {
        for (uint256 index = 0; index < transferDetails.length; ++index) {
            AllowanceTransferDetails calldata details = transferDetails[index];
            _transfer(details.from, details.to, details.amount, details.token);
        }
    }

    /// Take back allowances of the caller's own.
    function lockdown(TokenSpenderPair[] calldata approvals) external {
        for (uint256 index = 0; index < approvals.length; ++index) {
            TokenSpenderPair calldata pair = approvals[index];
            allowance[msg.sender][pair.token][pair.spender].amount = 0;
            emit Lockdown(msg.sender, pair.token, pair.spender);
        }
    }

    /// Make signatures of the caller's own useless whose nonces are below `newNonce`, at most 65,535 at once.
    function invalidateNonces(address token, address spender, uint48 newNonce) external {
        PackedAllowance storage allowed = allowance[msg.sender][token][spender];
        uint48 oldNonce = allowed.nonce;
        if (newNonce <= oldNonce) revert InvalidNonce();
        if (newNonce - oldNonce > type(uint16).max) revert ExcessiveInvalidation();
        allowed.nonce = newNonce;
        emit NonceInvalidation(msg.sender, token, spender, newNonce, oldNonce);
    }

    function _transfer(address from, address to, uint160 amount, address token) private {
        PackedAllowance storage allowed = allowance[from][token][msg.sender];
        if (block.timestamp > allowed.expiration) revert AllowanceExpired(allowed.expiration);
        uint160 most = allowed.amount;
        // The largest one is without bounds.
        if (most != type(uint160).max) {
            if (amount > most) revert InsufficientAllowance(most);
            allowed.amount = most - amount;
        }
        _move(token, from, to, amount);
    }

    function _update(PermitDetails memory details, address owner, address spender) private {
        PackedAllowance storage allowed = allowance[owner][details.token][spender];
        if (allowed.nonce != details.nonce) revert InvalidNonce();
        allowed.nonce = details.nonce + 1;
        allowed.amount = details.amount;
        allowed.expiration = _end(details.expiration);
        emit Permit(owner, details.token, spender, details.amount, details.expiration, details.nonce);
    }

    function _end(uint48 expiration) private view returns (uint48) {
        return expiration == 0 ? uint48(block.timestamp) : expiration;
    }

    function _hash(PermitDetails memory details) private pure returns (bytes32) {
        return keccak256(abi.encode(DETAILS_TYPEHASH, details));
    }
}
