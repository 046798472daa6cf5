// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A token that misbehaves as it is told to; its permits need no signature.
contract TrickToken {
    enum Trick {
        None,
        ReturnFalse,
        ReturnNothing,
        MoveNothing,
        KeepFee,
        Reenter,
        PermitNothing,
        PermitRevert,
        PermitPanic
    }

    Trick public trick;
    address public target;
    bytes public call;

    mapping(address owner => uint256) public balanceOf;
    mapping(address owner => mapping(address spender => uint256)) public allowance;
    mapping(address owner => uint256) public nonces;

    function play(Trick wanted, address target_, bytes calldata call_) external {
        (trick, target, call) = (wanted, target_, call_);
    }

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        return true;
    }

    function permit(address owner, address spender, uint256 value, uint256, uint8, bytes32, bytes32) external {
        if (trick == Trick.PermitRevert) revert();
        assert(trick != Trick.PermitPanic);
        if (trick == Trick.PermitNothing) return;
        ++nonces[owner];
        allowance[owner][spender] = value;
    }

    // solhint-disable-next-line func-name-mixedcase
    function DOMAIN_SEPARATOR() external pure returns (bytes32) {
        return 0;
    }

    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        if (trick == Trick.ReturnFalse) return false;
        if (trick == Trick.MoveNothing) return true;
        allowance[from][msg.sender] -= amount;
        balanceOf[from] -= amount;
        balanceOf[to] += trick == Trick.KeepFee ? amount - 1 : amount;
        if (trick == Trick.Reenter) {
            // Once: what is called may move this token as well.
            trick = Trick.None;
            (bool done, bytes memory result) = target.call(call);
            if (!done) {
                assembly ("memory-safe") {
                    revert(add(result, 32), mload(result))
                }
            }
        }
        if (trick == Trick.ReturnNothing) {
            assembly ("memory-safe") {
                return(0, 0)
            }
        }
        return true;
    }
}
