// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A wallet that is a contract (ERC-1271): it answers what it was told to, and executes what its owner says.
contract Wallet {
    enum Answer {
        OwnerSigned,
        WrongValue,
        TooShort,
        Revert,
        MagicWithDirt
    }

    address public immutable owner;
    Answer public answer;

    constructor(address owner_) {
        owner = owner_;
    }

    function setAnswer(Answer wanted) external {
        answer = wanted;
    }

    function execute(address to, bytes calldata data) external returns (bytes memory) {
        require(msg.sender == owner, "Wallet: not the owner");
        (bool done, bytes memory result) = to.call(data);
        if (!done) {
            assembly ("memory-safe") {
                revert(add(result, 32), mload(result))
            }
        }
        return result;
    }

    /// Its owner's signature, of any length: the last byte is v, the first 64 are r and s.
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (answer == Answer.Revert) revert("Wallet: no");
        if (answer == Answer.TooShort) {
            assembly ("memory-safe") {
                mstore(0, shl(224, 0x1626ba7e))
                return(0, 4)
            }
        }
        if (answer == Answer.MagicWithDirt) {
            assembly ("memory-safe") {
                mstore(0, or(shl(224, 0x1626ba7e), 1))
                return(0, 32)
            }
        }
        if (answer == Answer.WrongValue) return 0xffffffff;
        uint8 v = uint8(signature[signature.length - 1]);
        bytes32 r = bytes32(signature[:32]);
        bytes32 s = bytes32(signature[32:64]);
        return ecrecover(hash, v, r, s) == owner ? this.isValidSignature.selector : bytes4(0);
    }
}
