// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";

import {ISignatureTransfer} from "../permit2/ISignatureTransfer.sol";
import {DepositCollector} from "./DepositCollector.sol";

/// Fetches deposits over Permit2, by a signature that names this contract as spender and the channel as witness.
contract Permit2DepositCollector is DepositCollector {
    event EIP2612PermitFailedWithReason(address indexed token, address indexed owner, string reason);
    event EIP2612PermitFailedWithPanic(address indexed token, address indexed owner, uint256 errorCode);
    event EIP2612PermitFailedWithData(address indexed token, address indexed owner, bytes data);

    error InvalidPermit2Address();
    error Permit2612AmountMismatch();

    string public constant DEPOSIT_WITNESS_TYPE_STRING =
        "DepositWitness witness)DepositWitness(bytes32 channelId)TokenPermissions(address token,uint256 amount)";
    bytes32 public constant DEPOSIT_WITNESS_TYPEHASH = keccak256("DepositWitness(bytes32 channelId)");

    // solhint-disable-next-line var-name-mixedcase
    ISignatureTransfer public immutable PERMIT2;

    constructor(address settlement, address permit2) DepositCollector(settlement) {
        if (permit2 == address(0)) revert InvalidPermit2Address();
        PERMIT2 = ISignatureTransfer(permit2);
    }

    /// `collectorData` is (uint256 nonce, uint256 deadline, bytes signature, bytes permit), where `permit` is empty or
    /// (uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) of the token's permit (EIP-2612) for Permit2.
    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata collectorData)
        external
        onlySettlement
    {
        (uint256 nonce, uint256 deadline, bytes memory signature, bytes memory permit) =
            abi.decode(collectorData, (uint256, uint256, bytes, bytes));
        if (permit.length != 0) _approve(token, payer, amount, permit);
        PERMIT2.permitWitnessTransferFrom(
            ISignatureTransfer.PermitTransferFrom(
                ISignatureTransfer.TokenPermissions(token, amount), nonce, deadline
            ),
            ISignatureTransfer.SignatureTransferDetails(msg.sender, amount),
            payer,
            keccak256(abi.encode(DEPOSIT_WITNESS_TYPEHASH, channelId)),
            DEPOSIT_WITNESS_TYPE_STRING,
            signature
        );
    }

    /// Submit the token's permit. A failure is only logged: another account may have submitted the permit.
    function _approve(address token, address owner, uint256 amount, bytes memory permit) private {
        (uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) =
            abi.decode(permit, (uint256, uint256, uint8, bytes32, bytes32));
        if (value != amount) revert Permit2612AmountMismatch();
        try IERC20Permit(token).permit(owner, address(PERMIT2), value, deadline, v, r, s) {}
        catch Error(string memory reason) {
            emit EIP2612PermitFailedWithReason(token, owner, reason);
        } catch Panic(uint256 code) {
            emit EIP2612PermitFailedWithPanic(token, owner, code);
        } catch (bytes memory data) {
            emit EIP2612PermitFailedWithData(token, owner, data);
        }
    }
}
