// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

import {ExactTransfer} from "./ExactTransfer.sol";
import {IPermitToken} from "./IPermitToken.sol";

/// Captures of an amount that is known only in the end, up to a maximum that the payer permitted (EIP-2612).
///
/// The payer signs a permit for this contract over the order's maximum; the merchant captures the order once, for at most
/// that, and the money goes straight to the merchant, whose address cannot be changed.
///
/// Whose allowance is it? EIP-2612 lets anybody submit a permit, and an allowance does not say for which order it was given.
/// So two things must hold at once: a permit that a stranger submitted first must not break the capture, and what one order
/// left of its allowance must not be there for another. A permit that this contract submits itself settles both: it sets the
/// allowance to the order's maximum, whatever it was. Where that fails, a capture goes on only if all of this is so:
///
/// 1. The payer's signature fits one of the permits' nonces that were used up since the payer's last capture here. A
///    nonce is part of what is signed, so a permit serves one capture, and a permit from before the last capture none.
/// 2. The allowance is exactly the order's maximum, which is what that permit sets it to. A signature alone would not do:
///    the payer may have used up its nonce for something else, and that is how a payer revokes it. A revoked permit is told
///    from a submitted one of exactly the same maximum by nothing; it can stand in for that one, once. That takes no more
///    than the payer allowed, and no permit names an order anyway.
/// 3. The allowance is not what the payer's last capture left. Otherwise a revoked permit, for just as much as was left,
///    would be taken for one that was submitted.
///
/// What is lost by that: if a stranger submits two permits of one payer, the second overwrites the allowance of the first in the
/// token itself, and if what was left happens to be the next maximum and a stranger submits that permit, 3 refuses it. The
/// payer then signs again. No money moves in either case.
contract Checkout is ReentrancyGuardTransient {
    using ExactTransfer for IPermitToken;

    event PaymentCaptured(
        bytes32 indexed orderId, address indexed payer, uint256 amount, uint256 authorizedMaximum
    );

    error NotMerchant();
    error OrderAlreadyCaptured(bytes32 orderId);
    error ZeroAmount();
    error AmountExceedsMaximum();
    /// The deadline holds for the capture too, not only for the permit that somebody submitted in time.
    error PermitExpired(uint256 deadline);
    /// The permit cannot be submitted, without a reason, and what a submitted one would leave is not there.
    error PermitNotUsable();

    /// How a payer's last capture left things.
    struct LastCapture {
        /// The payer's next nonce for permits then.
        uint64 nextNonce;
        /// The allowance that was left; the largest number stands for all that are too large.
        uint192 allowanceLeft;
    }

    bytes32 private constant PERMIT_TYPEHASH =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    /// How many permits a payer can have used after the one that a stranger submitted; each costs a signature check.
    uint256 private constant NONCES_SEARCHED = 16;

    IPermitToken public immutable token;
    address public immutable merchant;

    /// slot 0: whether an order was captured.
    mapping(bytes32 orderId => bool) public captured;
    /// slot 1
    mapping(address payer => LastCapture) public lastCapture;

    constructor(IPermitToken token_, address merchant_) {
        token = token_;
        merchant = merchant_;
    }

    /// Take `actualAmount` for an order, once. `permitDeadline` and signature are those of the payer's permit for this
    /// contract over `authorizedMaximum`; amounts are in the token's smallest unit, the deadline is in seconds since 1970.
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

    /// Submit the permit, or make sure that the allowance is what it left when somebody else did.
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
