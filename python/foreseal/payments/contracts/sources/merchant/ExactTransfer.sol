// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// Transfers of exact amounts. They check the token's response and the balances before and after, and revert otherwise.
library ExactTransfer {
    using SafeERC20 for IERC20;

    /// The token reported a transfer of `amount`, but the recipient's balance did not grow by it.
    error AmountNotReceived(address recipient, uint256 amount);
    /// The token reported a transfer of `amount`, but the sender's balance did not shrink by it.
    error AmountNotSent(address sender, uint256 amount);

    /// Move `amount` by the allowance of this contract from `from`. A revert of the token is passed on.
    function pull(IERC20 token, address from, address to, uint256 amount) internal {
        uint256 had = token.balanceOf(to);
        token.safeTransferFrom(from, to, amount);
        if (token.balanceOf(to) != (from == to ? had : had + amount)) revert AmountNotReceived(to, amount);
    }
    /// Move `amount` of this contract's own tokens to another account. A revert of the token is passed on.
    function push(IERC20 token, address to, uint256 amount) internal {
        uint256 held = token.balanceOf(address(this));
        uint256 had = token.balanceOf(to);
        token.safeTransfer(to, amount);
        if (token.balanceOf(to) != had + amount) revert AmountNotReceived(to, amount);
        if (token.balanceOf(address(this)) != held - amount) revert AmountNotSent(address(this), amount);
    }
}
