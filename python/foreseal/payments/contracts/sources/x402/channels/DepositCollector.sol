// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IDepositCollector} from "./IDepositCollector.sol";

/// Base of the collectors: they collect for the settlement contract only.
abstract contract DepositCollector is IDepositCollector {
    error InvalidX402BatchSettlementAddress();
    error OnlyX402BatchSettlement();

    address public immutable x402BatchSettlement;

    modifier onlySettlement() {
        if (msg.sender != x402BatchSettlement) revert OnlyX402BatchSettlement();
        _;
    }

    constructor(address settlement) {
        if (settlement == address(0)) revert InvalidX402BatchSettlementAddress();
        x402BatchSettlement = settlement;
    }
}
