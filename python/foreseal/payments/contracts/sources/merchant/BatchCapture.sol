// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {ExactTransfer} from "./ExactTransfer.sol";
import {IReceiveByBytes, IReceiveByParts} from "./IAuthorizationToken.sol";

/// Captures of up to 200 authorizations (EIP-3009) in one transaction, whose sum goes to the merchant.
///
/// Each payer signs a `ReceiveWithAuthorization` whose payee is this contract, so only this contract can use it, and
/// only the merchant can make it do so. Authorizations are independent: one that fails is reported by `CaptureFailed`
/// and stops no other. Those that succeed have the token's own logs, `AuthorizationUsed` directly before `Transfer`.
/// The call then sends their exact sum to the merchant, whose address cannot be changed, or reverts as a whole. A call
/// in which every authorization fails succeeds, so that the reasons are on the chain.
///
/// Gas. A payer with code chooses what its signature check costs. Each call to the token therefore receives the same
/// fixed amount of gas, never less: the EVM would silently reduce it to 63/64 of what is left, so the contract first
/// checks that all of it can be forwarded and otherwise reverts the whole batch. The gas limit of the transaction thus
/// has no influence on which authorizations are reported as failed. A hostile payer consumes at most that amount, and
/// at most `MAXIMUM_REASON` bytes of a revert are copied.
///
/// The contract stores nothing and owns nothing between calls. Tokens that an account sends to it directly are not part
/// of any batch; `sweep` sends them to the merchant.
contract BatchCapture is ReentrancyGuardTransient {
    using ExactTransfer for IERC20;

    /// The token rejected an authorization, which remains usable if its nonce is unused. `reason` is the beginning of
    /// the revert data; it is empty if the call ran out of its gas.
    event CaptureFailed(address indexed payer, bytes32 indexed nonce, bytes reason);

    error NotMerchant();
    error InvalidBatchSize();
    error InvalidToken();
    error InvalidMerchant();
    /// A call to the token would receive less gas than it must.
    error InsufficientGas();
    /// The given gas is less than `CALL_GAS`.
    error InvalidCallGas();
    error ZeroAmount();

    /// The terms that a payer signs, without the payee, and the signature in parts.
    struct Authorization {
        address from;
        uint256 value;
        uint256 validAfter;
        uint256 validBefore;
        bytes32 nonce;
        uint8 v;
        bytes32 r;
        bytes32 s;
    }

    /// The same with a signature of any length, for wallets that are contracts (ERC-1271).
    struct WalletAuthorization {
        address from;
        uint256 value;
        uint256 validAfter;
        uint256 validBefore;
        bytes32 nonce;
        bytes signature;
    }

    uint256 public constant MAXIMUM_AUTHORIZATIONS = 200;
    /// Gas of each call to the token. A payment of an account without code needs less than half of it.
    uint256 public constant CALL_GAS = 200_000;
    /// Bytes of a revert that are reported: enough for a reason of 188 characters.
    uint256 public constant MAXIMUM_REASON = 256;
    /// Gas between the check and the call, of which a first call of the token's account is 2,600.
    uint256 private constant CALL_OVERHEAD = 3_000;

    IERC20 public immutable token;
    address public immutable merchant;

    modifier onlyMerchant() {
        if (msg.sender != merchant) revert NotMerchant();
        _;
    }

    constructor(IERC20 token_, address merchant_) {
        if (address(token_).code.length == 0) revert InvalidToken();
        if (merchant_ == address(0)) revert InvalidMerchant();
        token = token_;
        merchant = merchant_;
    }

    /// Capture authorizations in their order, each with `CALL_GAS`.
    function capture(Authorization[] calldata authorizations) external onlyMerchant nonReentrant {
        _checkSize(authorizations.length);
        uint256 held = token.balanceOf(address(this));
        uint256 captured = 0;
        for (uint256 index = 0; index < authorizations.length; ++index) {
            Authorization calldata signed = authorizations[index];
            if (_receive(signed.from, signed.nonce, _call(signed), CALL_GAS)) captured += signed.value;
        }
        _forward(held, captured);
    }

    /// Capture authorizations whose signatures are bytes. A wallet whose signature check needs more than `CALL_GAS` is
    /// captured with a larger `callGas`, which each call to the token receives.
    function captureFromWallets(WalletAuthorization[] calldata authorizations, uint256 callGas)
        external
        onlyMerchant
        nonReentrant
    {
        _checkSize(authorizations.length);
        if (callGas < CALL_GAS) revert InvalidCallGas();
        uint256 held = token.balanceOf(address(this));
        uint256 captured = 0;
        for (uint256 index = 0; index < authorizations.length; ++index) {
            WalletAuthorization calldata signed = authorizations[index];
            if (_receive(signed.from, signed.nonce, _call(signed), callGas)) captured += signed.value;
        }
        _forward(held, captured);
    }

    /// Send the merchant all tokens that this contract owns: those that were sent to it outside of a batch.
    function sweep() external onlyMerchant nonReentrant {
        uint256 amount = token.balanceOf(address(this));
        if (amount == 0) revert ZeroAmount();
        token.push(merchant, amount);
    }

    function _checkSize(uint256 size) private pure {
        if (size == 0 || size > MAXIMUM_AUTHORIZATIONS) revert InvalidBatchSize();
    }

    /// Use one authorization with exactly `callGas`, and report it if it fails.
    function _receive(address payer, bytes32 nonce, bytes memory data, uint256 callGas) private returns (bool done) {
        _requireGas(callGas);
        address called = address(token);
        bytes memory reason;
        assembly ("memory-safe") {
            // The output has size zero: what the token returns is not copied, and the revert data only up to the
            // maximum.
            done := call(callGas, called, 0, add(data, 32), mload(data), 0, 0)
            if iszero(done) {
                let size := returndatasize()
                if gt(size, MAXIMUM_REASON) { size := MAXIMUM_REASON }
                reason := mload(0x40)
                mstore(0x40, add(reason, add(32, MAXIMUM_REASON)))
                mstore(reason, size)
                returndatacopy(add(reason, 32), 0, size)
            }
        }
        if (!done) emit CaptureFailed(payer, nonce, reason);
    }

    /// Revert unless a call can forward `callGas`: at most all but one 64th of what is left at the call (EIP-150).
    function _requireGas(uint256 callGas) private view {
        uint256 left = gasleft();
        if (left < CALL_OVERHEAD) revert InsufficientGas();
        left -= CALL_OVERHEAD;
        if (left - left / 64 < callGas) revert InsufficientGas();
    }

    /// Send the merchant what the authorizations brought, which must be their exact sum.
    function _forward(uint256 held, uint256 captured) private {
        // More than that is possible only if an account sent tokens during the batch; it stays for `sweep`.
        if (token.balanceOf(address(this)) < held + captured) {
            revert ExactTransfer.AmountNotReceived(address(this), captured);
        }
        if (captured != 0) token.push(merchant, captured);
    }

    function _call(Authorization calldata signed) private view returns (bytes memory) {
        return abi.encodeCall(
            IReceiveByParts.receiveWithAuthorization,
            (
                signed.from,
                address(this),
                signed.value,
                signed.validAfter,
                signed.validBefore,
                signed.nonce,
                signed.v,
                signed.r,
                signed.s
            )
        );
    }

    function _call(WalletAuthorization calldata signed) private view returns (bytes memory) {
        return abi.encodeCall(
            IReceiveByBytes.receiveWithAuthorization,
            (
                signed.from,
                address(this),
                signed.value,
                signed.validAfter,
                signed.validBefore,
                signed.nonce,
                signed.signature
            )
        );
    }
}
