// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {ISignatureTransfer} from "../permit2/ISignatureTransfer.sol";

/// Base of x402's two proxies. A proxy is the spender of the payer's Permit2 signature and pays the payee in the signed
/// witness, so that the account that submits the payment cannot send the money elsewhere.
abstract contract Permit2Proxy is ReentrancyGuardTransient {
    /// A permit of the token (EIP-2612) for Permit2, for payers who never approved it.
    struct EIP2612Permit {
        uint256 value;
        uint256 deadline;
        bytes32 r;
        bytes32 s;
        uint8 v;
    }

    event Settled();
    event SettledWithPermit();
    event EIP2612PermitFailedWithReason(address indexed token, address indexed owner, string reason);
    event EIP2612PermitFailedWithPanic(address indexed token, address indexed owner, uint256 errorCode);
    event EIP2612PermitFailedWithData(address indexed token, address indexed owner, bytes data);

    error InvalidPermit2Address();
    error InvalidDestination();
    error InvalidOwner();
    error InvalidAmount();
    error PaymentTooEarly();
    error Permit2612AmountMismatch();

    // solhint-disable-next-line var-name-mixedcase
    ISignatureTransfer public immutable PERMIT2;

    constructor(address permit2) {
        if (permit2 == address(0)) revert InvalidPermit2Address();
        PERMIT2 = ISignatureTransfer(permit2);
    }

    /// Pay `amount` to the payee; the time is in seconds since 1970, `validAfter` itself is late enough.
    function _pay(
        ISignatureTransfer.PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        address to,
        uint256 validAfter,
        bytes32 witness,
        string memory witnessType,
        bytes calldata signature
    ) internal {
        if (amount == 0) revert InvalidAmount();
        if (owner == address(0)) revert InvalidOwner();
        if (to == address(0)) revert InvalidDestination();
        if (block.timestamp < validAfter) revert PaymentTooEarly();
        ISignatureTransfer.SignatureTransferDetails memory details =
            ISignatureTransfer.SignatureTransferDetails(to, amount);
        PERMIT2.permitWitnessTransferFrom(permit, details, owner, witness, witnessType, signature);
    }

    /// Submit the token's permit. A failure is only logged: another account may have submitted the permit.
    function _approve(address token, address owner, EIP2612Permit calldata permit, uint256 permitted) internal {
        if (permit.value != permitted) revert Permit2612AmountMismatch();
        try IERC20Permit(token)
            .permit(owner, address(PERMIT2), permit.value, permit.deadline, permit.v, permit.r, permit.s) {}
        catch Error(string memory reason) {
            emit EIP2612PermitFailedWithReason(token, owner, reason);
        } catch Panic(uint256 code) {
            emit EIP2612PermitFailedWithPanic(token, owner, code);
        } catch (bytes memory data) {
            emit EIP2612PermitFailedWithData(token, owner, data);
        }
    }
}
