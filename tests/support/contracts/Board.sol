// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A value that anybody may set, and every way in which a call can fail.
contract Board {
    event ValueSet(address indexed author, uint256 indexed value, uint256 previous, string note);
    event Paid(address indexed payer, uint256 amount);

    error Refused(address caller, uint256 value);

    uint256 public value;

    constructor(uint256 first) payable {
        value = first;
    }

    function set(uint256 next, string calldata note) external {
        emit ValueSet(msg.sender, next, value, note);
        value = next;
    }

    function pay() external payable {
        emit Paid(msg.sender, msg.value);
    }

    function failWithReason() external {
        value = 0;
        revert("the board is closed");
    }

    function failWithCustomError(uint256 offered) external {
        value = offered;
        revert Refused(msg.sender, offered);
    }

    /// Panics with 0x12 where the divisor is zero.
    function divide(uint256 divisor) external {
        value = value / divisor;
    }

    function failWithoutData() external {
        value = 0;
        revert();
    }
}
