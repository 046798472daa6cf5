// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A wallet that is a contract (ERC-1271) and accepts any signature, at a cost for its caller.
contract HostileWallet {
    enum Attack {
        None,
        /// Uses all gas that it receives.
        BurnGas,
        /// Returns more bytes than its caller can pay for.
        ReturnBomb,
        /// Reverts with more bytes than its caller can pay for.
        RevertBomb,
        /// Uses `amount` of gas, then accepts.
        SpendGas,
        /// Accepts if it receives `amount` of gas at least.
        CountGas
    }

    Attack public attack;
    uint256 public amount;

    function play(Attack wanted, uint256 amount_) external {
        (attack, amount) = (wanted, amount_);
    }

    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        uint256 received = gasleft();
        Attack wanted = attack;
        // Memory of this size costs 143,000 gas: the wallet can pay for it, its caller cannot pay for a copy as well.
        uint256 bomb = 250_000;
        if (wanted == Attack.BurnGas) for (;;) {}
        if (wanted == Attack.ReturnBomb) {
            assembly ("memory-safe") {
                mstore(0x80, shl(224, 0x1626ba7e))
                return(0x80, bomb)
            }
        }
        if (wanted == Attack.RevertBomb) {
            assembly ("memory-safe") {
                revert(0x80, bomb)
            }
        }
        uint256 wantedGas = amount;
        if (wanted == Attack.SpendGas) while (received - gasleft() < wantedGas) {}
        if (wanted == Attack.CountGas && received < wantedGas) return 0xffffffff;
        return this.isValidSignature.selector;
    }
}
