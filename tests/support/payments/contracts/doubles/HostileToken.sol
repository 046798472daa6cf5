// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A token with receipts by authorization (EIP-3009) that needs no signature and misbehaves as it is told to.
contract HostileToken {
    enum Attack {
        None,
        /// A receipt that reverts with `size` bytes.
        RevertBytes,
        /// A receipt that returns `size` bytes.
        ReturnBytes,
        /// A receipt that uses all gas that it receives.
        BurnGas,
        /// A receipt that moves nothing.
        MoveNothing,
        /// A receipt that moves a unit less.
        KeepFee,
        /// A receipt after which the payee has a unit more than that.
        AddUnit,
        /// A receipt that calls `target` with `data` and reverts as that does.
        Reenter,
        /// A transfer that returns false.
        ReturnFalse,
        /// A transfer that moves nothing.
        TransferNothing,
        /// A transfer that the sender pays twice.
        TransferTwice,
        /// A transfer that returns no value.
        TransferReturnNothing
    }

    /// Gas that a receipt had shortly after its begin.
    event GasReceived(uint256 gas);

    Attack public attack;
    uint256 public size;
    address public target;
    bytes public data;

    mapping(address owner => uint256) public balanceOf;

    function play(Attack wanted, uint256 size_, address target_, bytes calldata data_) external {
        (attack, size, target, data) = (wanted, size_, target_, data_);
    }

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256,
        uint256,
        bytes32,
        uint8,
        bytes32,
        bytes32
    ) external {
        _receive(from, to, value);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256,
        uint256,
        bytes32,
        bytes memory
    ) external {
        _receive(from, to, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        if (attack == Attack.ReturnFalse) return false;
        if (attack == Attack.TransferNothing) return true;
        balanceOf[msg.sender] -= attack == Attack.TransferTwice ? 2 * value : value;
        balanceOf[to] += value;
        if (attack == Attack.TransferReturnNothing) {
            assembly ("memory-safe") {
                return(0, 0)
            }
        }
        return true;
    }

    function _receive(address from, address to, uint256 value) private {
        emit GasReceived(gasleft());
        uint256 bytesWanted = size;
        if (attack == Attack.RevertBytes) {
            assembly ("memory-safe") {
                calldatacopy(0x80, 0, bytesWanted)
                mstore(0x80, not(0))
                revert(0x80, bytesWanted)
            }
        }
        if (attack == Attack.BurnGas) for (;;) {}
        if (attack == Attack.MoveNothing) return;
        if (attack == Attack.Reenter) {
            (bool done, bytes memory answer) = target.call(data);
            if (!done) {
                assembly ("memory-safe") {
                    revert(add(answer, 32), mload(answer))
                }
            }
        }
        balanceOf[from] -= value;
        balanceOf[to] += attack == Attack.KeepFee ? value - 1 : value;
        if (attack == Attack.AddUnit) ++balanceOf[to];
        if (attack == Attack.ReturnBytes) {
            assembly ("memory-safe") {
                return(0x80, bytesWanted)
            }
        }
    }
}
