// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Token} from "../src/Token.sol";

interface Vm {
    function envUint(string calldata name) external returns (uint256);
    function envAddress(string calldata name) external returns (address);
    function addr(uint256 key) external returns (address);
    function startBroadcast(uint256 key) external;
    function stopBroadcast() external;
}

/// Transactions that depend on each other, of two senders: each fails without the one before.
contract Dependent {
    Vm private constant vm = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);

    /// Deploy a token, approve, and transfer as the spender.
    function allowance() external {
        uint256 owner = vm.envUint("FORESEAL_KEY");
        uint256 spender = vm.envUint("LIBRARY_SPENDER_KEY");
        vm.startBroadcast(owner);
        Token token = new Token(1e12);
        token.approve(vm.addr(spender), 5);
        vm.stopBroadcast();
        vm.startBroadcast(spender);
        token.transferFrom(vm.addr(owner), vm.envAddress("LIBRARY_RECIPIENT"), 5);
        vm.stopBroadcast();
    }

    /// Transfer wei in three transactions.
    function transfer() external {
        address payable to = payable(vm.envAddress("LIBRARY_RECIPIENT"));
        vm.startBroadcast(vm.envUint("FORESEAL_KEY"));
        for (uint256 value = 1; value <= 3; ++value) to.transfer(value);
        vm.stopBroadcast();
    }
}
