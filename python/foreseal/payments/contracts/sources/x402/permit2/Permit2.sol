// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AllowanceTransfers} from "./AllowanceTransfers.sol";
import {SignatureTransfers} from "./SignatureTransfers.sol";

/// Permit2's interface for development chains, where clients expect it at a fixed address.
///
/// Functions, messages, events, errors and the slots of nonces and allowances are those of Uniswap's Permit2. The code
/// differs: it computes its domain each time instead of caching it.
contract Permit2 is SignatureTransfers, AllowanceTransfers {}
