// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

import {ExactTransfer} from "./ExactTransfer.sol";
import {IPermitToken} from "./IPermitToken.sol";

/// Captures of an amount that is fixed only at capture, up to a maximum that the payer permitted (EIP-2612).
///
/// The payer signs a permit for this contract over the order's maximum; the merchant captures the order once, for at
/// most that, and the money goes straight to the merchant, whose address cannot be changed.
///
/// An allowance does not name its order, and anybody may submit a permit (EIP-2612). Two rules follow. A permit that a
/// stranger submitted first must not break the capture. The rest of one order's allowance must not pay another order.
/// If this contract submits the permit itself, both rules hold, because the permit overwrites the earlier allowance
/// with the order's maximum. If the permit fails, the capture continues only under all of these conditions:
///
/// 1. The payer's signature fits a permit nonce that was used after the payer's last capture here. The nonce is signed,
///    so a permit serves one capture, and a permit from before the last capture serves none.
/// 2. The allowance equals the order's maximum, to which that permit sets it. The signature alone is not enough,
///    because a payer revokes a permit by using its nonce for another one. A revoked permit cannot be distinguished
///    from a submitted permit of the same maximum, so it can replace that one, once. The capture then transfers no more
///    than the payer allowed, and no permit names an order.
/// 3. The allowance differs from the rest that the payer's last capture left. Otherwise a revoked permit over exactly
///    that rest would count as submitted.
///
/// Two captures are lost. If a stranger submits two permits of one payer, the second overwrites the allowance of the
/// first in the token. If the rest equals the next order's maximum and a stranger submits that permit, condition 3
/// rejects it. In both cases no money moves, and the payer signs again.
contract Checkout is ReentrancyGuardTransient {
    using ExactTransfer for IPermitToken;

    event PaymentCaptured(
        bytes32 indexed orderId, address indexed payer, uint256 amount, uint256 authorizedMaximum
    );

    error NotMerchant();
    error OrderAlreadyCaptured(bytes32 orderId);
    error ZeroAmount();
    error AmountExceedsMaximum();
    /// The deadline also applies to the capture, even if another account submitted the permit in time.
    error PermitExpired(uint256 deadline);
    /// The token rejected the permit without a reason, and the allowance does not show that it was submitted before.
    error PermitNotUsable();

    /// State of the token after a payer's last capture.
    struct LastCapture {
        /// The payer's next permit nonce at that time.
        uint64 nextNonce;
        /// The rest of the allowance, capped at the largest number of this type.
        uint192 allowanceLeft;
    }

    bytes32 private constant PERMIT_TYPEHASH =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    /// Maximum number of nonces that are compared with a permit from a stranger; each costs a signature check.
    uint256 private constant NONCES_SEARCHED = 16;

    IPermitToken public immutable token;
    address public immutable merchant;

    /// slot 0: `true` for an order that was captured.
    mapping(bytes32 orderId => bool) public captured;
    /// slot 1
    mapping(address payer => LastCapture) public lastCapture;

    constructor(IPermitToken token_, address merchant_) {
        token = token_;
        merchant = merchant_;
    }

    /// Capture `actualAmount` for an order, once. `permitDeadline` and signature are those of the payer's permit for
    /// this contract over `authorizedMaximum`. Amounts are in the token's smallest unit; the deadline is in seconds
    /// since 1970.
    function capture(
        bytes32 orderId,
        address payer,
        uint256 actualAmount,
        uint256 authorizedMaximum,
        uint256 permitDeadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external nonReentrant {
        if (msg.sender != merchant) revert NotMerchant();
        if (captured[orderId]) revert OrderAlreadyCaptured(orderId);
        if (actualAmount == 0) revert ZeroAmount();
        if (actualAmount > authorizedMaximum) revert AmountExceedsMaximum();
        if (block.timestamp > permitDeadline) revert PermitExpired(permitDeadline);
        captured[orderId] = true;
        _permit(payer, authorizedMaximum, permitDeadline, v, r, s);
        token.pull(payer, merchant, actualAmount);
        lastCapture[payer] = LastCapture(uint64(token.nonces(payer)), _narrow(token.allowance(payer, address(this))));
        emit PaymentCaptured(orderId, payer, actualAmount, authorizedMaximum);
    }

    /// Submit the permit, or check that another account submitted it and that its allowance is unused.
    function _permit(address payer, uint256 maximum, uint256 deadline, uint8 v, bytes32 r, bytes32 s) private {
        try token.permit(payer, address(this), maximum, deadline, v, r, s) {}
        catch (bytes memory reason) {
            if (_isSubmitted(payer, maximum, deadline, abi.encodePacked(r, s, v))) return;
            if (reason.length == 0) revert PermitNotUsable();
            assembly ("memory-safe") {
                revert(add(reason, 32), mload(reason))
            }
        }
    }

    function _isSubmitted(address payer, uint256 maximum, uint256 deadline, bytes memory signature)
        private
        view
        returns (bool)
    {
        LastCapture memory last = lastCapture[payer];
        uint256 allowance = token.allowance(payer, address(this));
        if (allowance != maximum || _narrow(allowance) == last.allowanceLeft) return false;
        uint256 nonce = token.nonces(payer);
        bytes32 domain = token.DOMAIN_SEPARATOR();
        for (uint256 tried = 0; tried < NONCES_SEARCHED && nonce > last.nextNonce; ++tried) {
            --nonce;
            bytes32 message = keccak256(abi.encode(PERMIT_TYPEHASH, payer, address(this), maximum, nonce, deadline));
            bytes32 digest = keccak256(abi.encodePacked("\x19\x01", domain, message));
            if (SignatureChecker.isValidSignatureNow(payer, digest, signature)) return true;
        }
        return false;
    }

    function _narrow(uint256 allowance) private pure returns (uint192) {
        return allowance > type(uint192).max ? type(uint192).max : uint192(allowance);
    }
}
