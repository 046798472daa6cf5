// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Transfers a payer's tokens for a deposit, by a message that the payer signed.
interface IDepositCollector {
    /// Bring `amount` of the payer's tokens to the caller.
    function collect(
        address payer,
        address token,
        uint256 amount,
        bytes32 channelId,
        bytes calldata collectorData
    ) external;
}
