// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Structures and signed messages of the channels of x402's scheme `batch-settlement`.
abstract contract ChannelMessages {
    /// The terms that identify a channel. The salt distinguishes channels between the same two accounts.
    struct ChannelConfig {
        address payer;
        /// Signs vouchers in the payer's place, as an account without code; zero if the payer does.
        address payerAuthorizer;
        address receiver;
        /// Signs claims and refunds for the receiver.
        address receiverAuthorizer;
        address token;
        /// Seconds between the request and the withdrawal of the rest of a deposit.
        uint40 withdrawDelay;
        bytes32 salt;
    }

    /// A payer's permission to claim up to a total, which includes all earlier claims.
    struct Voucher {
        ChannelConfig channel;
        uint128 maxClaimableAmount;
    }

    struct VoucherClaim {
        Voucher voucher;
        bytes signature;
        /// Total of the receiver's claims, at most the voucher's maximum.
        uint128 totalClaimed;
    }

    bytes32 public constant CHANNEL_CONFIG_TYPEHASH = keccak256(
        "ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)"
    );
    bytes32 public constant VOUCHER_TYPEHASH = keccak256("Voucher(bytes32 channelId,uint128 maxClaimableAmount)");
    bytes32 public constant REFUND_TYPEHASH = keccak256("Refund(bytes32 channelId,uint256 nonce,uint128 amount)");
    bytes32 public constant CLAIM_ENTRY_TYPEHASH =
        keccak256("ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)");
    bytes32 public constant CLAIM_BATCH_TYPEHASH = keccak256(
        "ClaimBatch(ClaimEntry[] claims)ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)"
    );
    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant HASHED_NAME = keccak256("x402 Batch Settlement");
    bytes32 private constant HASHED_VERSION = keccak256("1");

    /// A channel's id: the hash of its terms as a message, so that it differs between chains.
    function getChannelId(ChannelConfig calldata config) public view returns (bytes32) {
        return _digest(keccak256(abi.encode(CHANNEL_CONFIG_TYPEHASH, config)));
    }

    function getVoucherDigest(bytes32 channelId, uint128 maxClaimableAmount) public view returns (bytes32) {
        return _digest(keccak256(abi.encode(VOUCHER_TYPEHASH, channelId, maxClaimableAmount)));
    }

    function getRefundDigest(bytes32 channelId, uint256 nonce, uint128 amount) public view returns (bytes32) {
        return _digest(keccak256(abi.encode(REFUND_TYPEHASH, channelId, nonce, amount)));
    }

    function getClaimBatchDigest(VoucherClaim[] calldata voucherClaims) public view returns (bytes32) {
        bytes32[] memory entries = new bytes32[](voucherClaims.length);
        for (uint256 index = 0; index < entries.length; ++index) {
            VoucherClaim calldata each = voucherClaims[index];
            bytes32 channelId = getChannelId(each.voucher.channel);
            entries[index] = keccak256(
                abi.encode(CLAIM_ENTRY_TYPEHASH, channelId, each.voucher.maxClaimableAmount, each.totalClaimed)
            );
        }
        return _digest(keccak256(abi.encode(CLAIM_BATCH_TYPEHASH, keccak256(abi.encodePacked(entries)))));
    }

    function _digest(bytes32 messageHash) private view returns (bytes32) {
        bytes32 domain =
            keccak256(abi.encode(DOMAIN_TYPEHASH, HASHED_NAME, HASHED_VERSION, block.chainid, address(this)));
        return keccak256(abi.encodePacked("\x19\x01", domain, messageHash));
    }
}
