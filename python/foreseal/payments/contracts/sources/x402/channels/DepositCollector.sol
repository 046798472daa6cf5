// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IDepositCollector} from "./IDepositCollector.sol";

/// What the collectors have in common: they fetch for the settlement contract, and for nobody else.
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
