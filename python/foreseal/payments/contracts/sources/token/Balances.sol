// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {HolderPolicy} from "./HolderPolicy.sol";

/// Balances, transfers and allowances (ERC-20), and transfers with a memo.
///
/// Checks of a transfer, in the order that decides which revert is returned: pause, blacklist (executor, sender,
/// receiver), allowance, policy (executor, sender, receiver), zero addresses, balance.
abstract contract Balances is HolderPolicy, IERC20 {
    /// The memo of the `Transfer` that is the log directly before this one.
    event Memo(address indexed caller, bytes32 indexed memo);

    function totalSupply() external view returns (uint256) {
        return _totalSupply;
    }

    function balanceOf(address account) external view returns (uint256) {
        return _balanceOf(account);
    }

    function allowance(address owner, address spender) external view returns (uint256) {
        return _allowances[owner][spender];
    }

    function transfer(address to, uint256 value) external returns (bool) {
        _transfer(to, value);
        return true;
    }

    /// Lowers the allowance by `value`. No allowance is unlimited, not even the largest number.
    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        _transferFrom(from, to, value);
        return true;
    }

    /// `transfer`, and a memo with it; a zero memo is one too.
    function transferWithMemo(address to, uint256 value, bytes32 memo) external returns (bool) {
        _transfer(to, value);
        emit Memo(msg.sender, memo);
        return true;
    }

    /// `transferFrom`, and a memo with it; a zero memo is one too.
    function transferFromWithMemo(address from, address to, uint256 value, bytes32 memo) external returns (bool) {
        _transferFrom(from, to, value);
        emit Memo(msg.sender, memo);
        return true;
    }

    function approve(address spender, uint256 value) external whenNotPaused returns (bool) {
        _approve(msg.sender, spender, value);
        return true;
    }

    function increaseAllowance(address spender, uint256 increment) external whenNotPaused returns (bool) {
        _approve(msg.sender, spender, _sum(_allowances[msg.sender][spender], increment));
        return true;
    }

    function decreaseAllowance(address spender, uint256 decrement) external whenNotPaused returns (bool) {
        uint256 current = _allowances[msg.sender][spender];
        require(decrement <= current, "ERC20: decreased allowance below zero");
        _approve(msg.sender, spender, current - decrement);
        return true;
    }

    function _transfer(address to, uint256 value)
        private
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(to)
    {
        _requirePolicies(msg.sender, msg.sender, to);
        _move(msg.sender, to, value);
    }

    function _transferFrom(address from, address to, uint256 value)
        private
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(from)
        notBlacklisted(to)
    {
        uint256 current = _allowances[from][msg.sender];
        require(value <= current, "ERC20: transfer amount exceeds allowance");
        _requirePolicies(msg.sender, from, to);
        _move(from, to, value);
        _allowances[from][msg.sender] = current - value;
    }

    /// Move tokens and log it. The caller has checked pause, blacklist and policy.
    function _move(address from, address to, uint256 value) internal {
        require(from != address(0), "ERC20: transfer from the zero address");
        require(to != address(0), "ERC20: transfer to the zero address");
        uint256 balance = _balanceOf(from);
        require(value <= balance, "ERC20: transfer amount exceeds balance");
        _setBalance(from, balance - value);
        // Read again, since the receiver may be the sender. Two balances of 255 bits have a sum of 256.
        _setBalance(to, _balanceOf(to) + value);
        emit Transfer(from, to, value);
    }

    function _approve(address owner, address spender, uint256 value) internal {
        require(owner != address(0), "ERC20: approve from the zero address");
        require(spender != address(0), "ERC20: approve to the zero address");
        _allowances[owner][spender] = value;
        emit Approval(owner, spender, value);
    }

    function _balanceOf(address account) internal view returns (uint256) {
        return _balanceAndBlacklist[account] & ~BLACKLISTED;
    }

    /// Checks the blacklist again: a balance of 255 bits could otherwise set or clear its bit.
    function _setBalance(address account, uint256 balance) internal {
        require(balance < BLACKLISTED, "FiatTokenV2_2: Balance exceeds (2^255 - 1)");
        require(!_isBlacklisted(account), "FiatTokenV2_2: Account is blacklisted");
        _balanceAndBlacklist[account] = balance;
    }

    function _sum(uint256 left, uint256 right) internal pure returns (uint256 sum) {
        unchecked {
            sum = left + right;
        }
        require(sum >= left, "SafeMath: addition overflow");
    }
}
