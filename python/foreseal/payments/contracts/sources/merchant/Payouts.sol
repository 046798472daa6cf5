// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {ExactTransfer} from "./ExactTransfer.sol";

/// One payment to many, by the allowance that the sender gave to this contract: given amounts, or shares of a total.
///
/// A batch is paid as a whole or not at all, and only once. References are per sender: two senders may use the same
/// one.
contract Payouts is ReentrancyGuardTransient {
    using ExactTransfer for IERC20;

    /// One for each payout or share, right after its `Transfer`.
    event PayoutSent(
        bytes32 indexed batchReference, address indexed sender, address indexed recipient, uint256 amount
    );

    error BatchAlreadyProcessed(bytes32 batchReference);
    error InvalidArrayLengths();
    error InvalidBasisPoints();
    error InvalidRemainderRecipient(uint256 remainderRecipient);
    error TooManyRecipients();
    error ZeroAmount();

    uint256 public constant MAXIMUM_RECIPIENTS = 100;
    uint256 private constant BASIS_POINTS = 10_000;

    IERC20 public immutable token;

    /// slot 0: `true` for a batch that its sender has paid.
    mapping(address sender => mapping(bytes32 batchReference => bool)) public processed;

    constructor(IERC20 token_) {
        token = token_;
    }

    /// Pay `amounts[i]`, in the token's smallest unit and never zero, to `recipients[i]`.
    function sendPayouts(bytes32 batchReference, address[] calldata recipients, uint256[] calldata amounts)
        external
        nonReentrant
    {
        _begin(batchReference, recipients.length, amounts.length);
        for (uint256 index = 0; index < recipients.length; ++index) {
            if (amounts[index] == 0) revert ZeroAmount();
            _pay(batchReference, recipients[index], amounts[index]);
        }
    }

    /// Share `totalAmount`: `basisPoints[i]` of 10,000 parts go to `recipients[i]`, rounded down, and the remainder
    /// goes to the recipient at index `remainderRecipient`. A share may round to zero; it is paid and logged too.
    function splitPayment(
        bytes32 batchReference,
        uint256 totalAmount,
        address[] calldata recipients,
        uint16[] calldata basisPoints,
        uint256 remainderRecipient
    ) external nonReentrant {
        _begin(batchReference, recipients.length, basisPoints.length);
        if (totalAmount == 0) revert ZeroAmount();
        if (remainderRecipient >= recipients.length) revert InvalidRemainderRecipient(remainderRecipient);
        uint256 points = 0;
        uint256 remainder = totalAmount;
        for (uint256 index = 0; index < basisPoints.length; ++index) {
            points += basisPoints[index];
            // Checked here, because the subtraction below would underflow.
            if (points > BASIS_POINTS) revert InvalidBasisPoints();
            remainder -= _share(totalAmount, basisPoints[index]);
        }
        if (points != BASIS_POINTS) revert InvalidBasisPoints();
        for (uint256 index = 0; index < recipients.length; ++index) {
            uint256 amount = _share(totalAmount, basisPoints[index]);
            _pay(batchReference, recipients[index], index == remainderRecipient ? amount + remainder : amount);
        }
    }

    /// Check a batch and mark it as paid, before any transfer.
    function _begin(bytes32 batchReference, uint256 recipients, uint256 parts) private {
        if (recipients == 0 || recipients != parts) revert InvalidArrayLengths();
        if (recipients > MAXIMUM_RECIPIENTS) revert TooManyRecipients();
        if (processed[msg.sender][batchReference]) revert BatchAlreadyProcessed(batchReference);
        processed[msg.sender][batchReference] = true;
    }

    function _pay(bytes32 batchReference, address recipient, uint256 amount) private {
        token.pull(msg.sender, recipient, amount);
        emit PayoutSent(batchReference, msg.sender, recipient, amount);
    }

    function _share(uint256 totalAmount, uint256 basisPoints) private pure returns (uint256) {
        // In 512 bits: a total may have 256.
        return Math.mulDiv(totalAmount, basisPoints, BASIS_POINTS);
    }
}
