// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {Multicall} from "@openzeppelin/contracts/utils/Multicall.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

import {ChannelMessages} from "./ChannelMessages.sol";
import {IDepositCollector} from "./IDepositCollector.sol";

/// Payment channels of x402's scheme `batch-settlement`, with the interface that its clients call.
///
/// A payer deposits and sends vouchers to the receiver off the chain; each voucher states the total that may be claimed
/// so far. The receiver claims by the latest voucher, and one settlement pays all claims. The unclaimed rest returns to
/// the payer: at once if the receiver's side refunds it, or after a delay if the payer requests it. Vouchers reserve
/// nothing until they are claimed.
contract BatchSettlement is ChannelMessages, Multicall, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    struct ChannelState {
        uint128 balance;
        uint128 totalClaimed;
    }

    struct WithdrawalState {
        uint128 amount;
        /// Seconds since 1970; 0 if none is pending.
        uint40 initiatedAt;
    }

    struct ReceiverState {
        uint128 totalClaimed;
        uint128 totalSettled;
    }

    event ChannelCreated(bytes32 indexed channelId, ChannelConfig config);
    event ChannelClosed(bytes32 indexed channelId, ChannelConfig config);
    event Deposited(bytes32 indexed channelId, address indexed sender, uint128 amount, uint128 newBalance);
    event Claimed(bytes32 indexed channelId, address indexed sender, uint128 claimAmount, uint128 newTotalClaimed);
    event Settled(address indexed receiver, address indexed token, address indexed sender, uint128 amount);
    event Refunded(bytes32 indexed channelId, address indexed sender, uint128 amount);
    event WithdrawInitiated(bytes32 indexed channelId, uint128 amount, uint40 finalizeAfter);
    event WithdrawFinalized(bytes32 indexed channelId, address indexed sender, uint128 amount);

    error InvalidChannel();
    error WithdrawDelayOutOfRange();
    error ZeroDeposit();
    error InvalidCollector();
    error DepositOverflow();
    error DepositCollectionFailed();
    error EmptyBatch();
    error NotAuthorizedToClaim();
    error NotReceiverAuthorizer();
    error InvalidSignature();
    error ClaimExceedsCeiling();
    error ClaimExceedsBalance();
    error NothingToWithdraw();
    error WithdrawalAlreadyPending();
    error WithdrawAmountExceedsAvailable();
    error NotAuthorizedToFinalizeWithdraw();
    error WithdrawalNotPending();
    error WithdrawDelayNotElapsed();
    error NotAuthorizedToRefund();
    error InvalidRefundNonce();
    error ZeroRefund();

    uint40 public constant MIN_WITHDRAW_DELAY = 15 minutes;
    uint40 public constant MAX_WITHDRAW_DELAY = 30 days;

    /// slot 0
    mapping(bytes32 channelId => ChannelState) public channels;
    /// slot 1: the nonce that the next signed refund must have.
    mapping(bytes32 channelId => uint256) public refundNonce;
    /// slot 2
    mapping(bytes32 channelId => WithdrawalState) public pendingWithdrawals;
    /// slot 3
    mapping(address receiver => mapping(address token => ReceiverState)) public receivers;

    /// Put `amount` of the payer's tokens, which `collector` fetches, into a channel.
    function deposit(ChannelConfig calldata config, uint128 amount, address collector, bytes calldata collectorData)
        external
        nonReentrant
    {
        if (
            config.payer == address(0) || config.receiver == address(0) || config.receiverAuthorizer == address(0)
                || config.token == address(0)
        ) revert InvalidChannel();
        if (config.withdrawDelay < MIN_WITHDRAW_DELAY || config.withdrawDelay > MAX_WITHDRAW_DELAY) {
            revert WithdrawDelayOutOfRange();
        }
        if (amount == 0) revert ZeroDeposit();
        if (collector == address(0)) revert InvalidCollector();
        bytes32 channelId = getChannelId(config);
        ChannelState storage channel = channels[channelId];
        if (amount > type(uint128).max - channel.balance) revert DepositOverflow();
        channel.balance += amount;
        _collect(config, amount, collector, channelId, collectorData);
        if (channel.balance == amount && channel.totalClaimed == 0) emit ChannelCreated(channelId, config);
        emit Deposited(channelId, msg.sender, amount, channel.balance);
    }

    /// Claim by vouchers, as the receiver or its authorizer.
    function claim(VoucherClaim[] calldata voucherClaims) external nonReentrant {
        if (voucherClaims.length == 0) revert EmptyBatch();
        for (uint256 index = 0; index < voucherClaims.length; ++index) {
            if (!_isReceiving(voucherClaims[index].voucher.channel)) revert NotAuthorizedToClaim();
            _claim(voucherClaims[index]);
        }
    }

    /// Claim by vouchers of channels that share a receiver's authorizer, which signed the batch; anybody may submit it.
    function claimWithSignature(VoucherClaim[] calldata voucherClaims, bytes calldata authorizerSignature)
        external
        nonReentrant
    {
        if (voucherClaims.length == 0) revert EmptyBatch();
        address authorizer = voucherClaims[0].voucher.channel.receiverAuthorizer;
        _requireSigned(authorizer, getClaimBatchDigest(voucherClaims), authorizerSignature);
        for (uint256 index = 0; index < voucherClaims.length; ++index) {
            if (voucherClaims[index].voucher.channel.receiverAuthorizer != authorizer) revert NotReceiverAuthorizer();
            _claim(voucherClaims[index]);
        }
    }

    /// Pay a receiver all of its claims that are not paid yet. Anybody may call this.
    function settle(address receiver, address token) external nonReentrant {
        ReceiverState storage state = receivers[receiver][token];
        uint128 amount = state.totalClaimed - state.totalSettled;
        if (amount == 0) return;
        state.totalSettled = state.totalClaimed;
        IERC20(token).safeTransfer(receiver, amount);
        emit Settled(receiver, token, msg.sender, amount);
    }

    /// Request, as the payer's side, a part of the unclaimed rest; it can be withdrawn after the channel's delay.
    function initiateWithdraw(ChannelConfig calldata config, uint128 amount) external nonReentrant {
        if (!_isPaying(config)) revert InvalidChannel();
        if (amount == 0) revert NothingToWithdraw();
        bytes32 channelId = getChannelId(config);
        WithdrawalState storage pending = pendingWithdrawals[channelId];
        if (pending.initiatedAt != 0) revert WithdrawalAlreadyPending();
        if (amount > _unclaimed(channels[channelId])) revert WithdrawAmountExceedsAvailable();
        (pending.amount, pending.initiatedAt) = (amount, uint40(block.timestamp));
        emit WithdrawInitiated(channelId, amount, uint40(block.timestamp) + config.withdrawDelay);
    }

    /// Withdraw the requested amount, or the part of it that is still unclaimed.
    function finalizeWithdraw(ChannelConfig calldata config) external nonReentrant {
        if (!_isPaying(config)) revert NotAuthorizedToFinalizeWithdraw();
        bytes32 channelId = getChannelId(config);
        WithdrawalState memory pending = pendingWithdrawals[channelId];
        if (pending.initiatedAt == 0) revert WithdrawalNotPending();
        if (block.timestamp < uint256(pending.initiatedAt) + config.withdrawDelay) revert WithdrawDelayNotElapsed();
        delete pendingWithdrawals[channelId];
        ChannelState storage channel = channels[channelId];
        uint128 amount = _lesser(pending.amount, _unclaimed(channel));
        channel.balance -= amount;
        emit WithdrawFinalized(channelId, msg.sender, amount);
        _giveBack(config, channelId, amount);
    }

    /// Refund a part of the unclaimed rest to the payer, as the receiver or its authorizer.
    function refund(ChannelConfig calldata config, uint128 amount) external nonReentrant {
        if (!_isReceiving(config)) revert NotAuthorizedToRefund();
        _refund(config, amount);
    }

    /// Same as `refund`, by a signature of the receiver's authorizer that anybody may submit. Each refund increments
    /// the nonce.
    function refundWithSignature(
        ChannelConfig calldata config,
        uint128 amount,
        uint256 nonce,
        bytes calldata receiverAuthorizerSignature
    ) external nonReentrant {
        bytes32 channelId = getChannelId(config);
        if (nonce != refundNonce[channelId]) revert InvalidRefundNonce();
        bytes32 digest = getRefundDigest(channelId, nonce, amount);
        _requireSigned(config.receiverAuthorizer, digest, receiverAuthorizerSignature);
        _refund(config, amount);
    }

    function _collect(
        ChannelConfig calldata config,
        uint128 amount,
        address collector,
        bytes32 channelId,
        bytes calldata data
    ) private {
        uint256 had = IERC20(config.token).balanceOf(address(this));
        IDepositCollector(collector).collect(config.payer, config.token, amount, channelId, data);
        if (IERC20(config.token).balanceOf(address(this)) != had + amount) revert DepositCollectionFailed();
    }

    /// A claim that does not exceed the earlier claims changes nothing, so that an old one is harmless.
    function _claim(VoucherClaim calldata given) private {
        ChannelConfig calldata config = given.voucher.channel;
        bytes32 channelId = getChannelId(config);
        ChannelState storage channel = channels[channelId];
        uint128 claimed = channel.totalClaimed;
        if (given.totalClaimed <= claimed) return;
        if (given.totalClaimed > given.voucher.maxClaimableAmount) revert ClaimExceedsCeiling();
        if (given.totalClaimed > channel.balance) revert ClaimExceedsBalance();
        bytes32 digest = getVoucherDigest(channelId, given.voucher.maxClaimableAmount);
        if (config.payerAuthorizer == address(0)) {
            _requireSigned(config.payer, digest, given.signature);
        } else if (ECDSA.recoverCalldata(digest, given.signature) != config.payerAuthorizer) {
            revert InvalidSignature();
        }
        uint128 more = given.totalClaimed - claimed;
        channel.totalClaimed = given.totalClaimed;
        receivers[config.receiver][config.token].totalClaimed += more;
        emit Claimed(channelId, msg.sender, more, given.totalClaimed);
    }

    function _refund(ChannelConfig calldata config, uint128 amount) private {
        if (amount == 0) revert ZeroRefund();
        bytes32 channelId = getChannelId(config);
        // Even if nothing is left, so that no signature can be used twice.
        ++refundNonce[channelId];
        ChannelState storage channel = channels[channelId];
        uint128 refunded = _lesser(amount, _unclaimed(channel));
        if (refunded == 0) return;
        channel.balance -= refunded;
        WithdrawalState storage pending = pendingWithdrawals[channelId];
        if (refunded >= pending.amount) delete pendingWithdrawals[channelId];
        else pending.amount -= refunded;
        emit Refunded(channelId, msg.sender, refunded);
        _giveBack(config, channelId, refunded);
    }

    function _giveBack(ChannelConfig calldata config, bytes32 channelId, uint128 amount) private {
        ChannelState storage channel = channels[channelId];
        if (channel.balance == 0 && channel.totalClaimed == 0) emit ChannelClosed(channelId, config);
        if (amount > 0) IERC20(config.token).safeTransfer(config.payer, amount);
    }

    function _requireSigned(address signer, bytes32 digest, bytes calldata signature) private view {
        if (!SignatureChecker.isValidSignatureNow(signer, digest, signature)) revert InvalidSignature();
    }

    function _isReceiving(ChannelConfig calldata config) private view returns (bool) {
        return msg.sender == config.receiverAuthorizer || msg.sender == config.receiver;
    }

    function _isPaying(ChannelConfig calldata config) private view returns (bool) {
        return msg.sender == config.payer || msg.sender == config.payerAuthorizer;
    }

    function _unclaimed(ChannelState storage channel) private view returns (uint128) {
        return channel.balance - channel.totalClaimed;
    }

    function _lesser(uint128 left, uint128 right) private pure returns (uint128) {
        return left < right ? left : right;
    }
}
