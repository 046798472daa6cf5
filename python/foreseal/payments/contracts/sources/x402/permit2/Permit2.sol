// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AllowanceTransfers} from "./AllowanceTransfers.sol";
import {SignatureTransfers} from "./SignatureTransfers.sol";

/// Permit2's interface for development chains, where clients look for it at a fixed address.
///
/// Functions, messages, events and refusals are those of Uniswap's Permit2, and so are the slots of nonces and allowances. The
/// code is another one: it computes its domain each time instead of keeping it.
contract Permit2 is SignatureTransfers, AllowanceTransfers {}
