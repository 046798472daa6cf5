// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// Transfers that happened, or revert: the answer of the token is looked at, and what the recipient has before and after.
library ExactTransfer {
    using SafeERC20 for IERC20;

    /// The token said that it moved `amount`, and the recipient did not get that.
    error AmountNotReceived(address recipient, uint256 amount);
    /// The token said that it moved `amount`, and the sender does not have that much less.
    error AmountNotSent(address sender, uint256 amount);

    /// Move `amount` by the allowance that `from` gave to this contract. What the token reverts with is passed on.
    function pull(IERC20 token, address from, address to, uint256 amount) internal {
        uint256 had = token.balanceOf(to);
        token.safeTransferFrom(from, to, amount);
        if (token.balanceOf(to) != (from == to ? had : had + amount)) revert AmountNotReceived(to, amount);
    }
    /// Move `amount` of this contract's own tokens to another account. What the token reverts with is passed on.
    function push(IERC20 token, address to, uint256 amount) internal {
        uint256 held = token.balanceOf(address(this));
        uint256 had = token.balanceOf(to);
        token.safeTransfer(to, amount);
        if (token.balanceOf(to) != had + amount) revert AmountNotReceived(to, amount);
        if (token.balanceOf(address(this)) != held - amount) revert AmountNotSent(address(this), amount);
    }
}
