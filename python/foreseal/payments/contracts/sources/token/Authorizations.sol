// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Balances} from "./Balances.sol";
import {SigningDomain} from "./SigningDomain.sol";

/// Transfers by a signed message (EIP-3009), each with the signature in parts (v, r, s) or as bytes.
///
/// Transfer, receipt and cancellation share one set of nonces per signer. They check in this order: pause, blacklist
/// (payer, payee; not for a cancellation), caller (receipt only), begin, end, nonce, signature. After the nonce is used
/// and logged, the checks of every transfer follow: policy, zero addresses, balance.
abstract contract Authorizations is Balances, SigningDomain {
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

    bytes32 public constant TRANSFER_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 public constant RECEIVE_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 public constant CANCEL_AUTHORIZATION_TYPEHASH =
        keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");

    /// The terms that a payer signs.
    struct Terms {
        address from;
        address to;
        uint256 value;
        uint256 validAfter;
        uint256 validBefore;
        bytes32 nonce;
    }

    /// Returns `true` if a nonce is used or canceled. Only the logs distinguish the two.
    function authorizationState(address authorizer, bytes32 nonce) external view returns (bool) {
        return _authorizationStates[authorizer][nonce];
    }

    /// Anybody may submit it. Valid while validAfter < time < validBefore, seconds since 1970.
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        _execute(
            TRANSFER_WITH_AUTHORIZATION_TYPEHASH,
            Terms(from, to, value, validAfter, validBefore, nonce),
            abi.encodePacked(r, s, v)
        );
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external {
        _execute(
            TRANSFER_WITH_AUTHORIZATION_TYPEHASH, Terms(from, to, value, validAfter, validBefore, nonce), signature
        );
    }

    /// Same as `transferWithAuthorization`, except that only the payee may submit it, so that no other account can
    /// execute it outside the transaction for which it was signed.
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        _execute(
            RECEIVE_WITH_AUTHORIZATION_TYPEHASH,
            Terms(from, to, value, validAfter, validBefore, nonce),
            abi.encodePacked(r, s, v)
        );
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external {
        _execute(
            RECEIVE_WITH_AUTHORIZATION_TYPEHASH, Terms(from, to, value, validAfter, validBefore, nonce), signature
        );
    }

    /// Make a nonce unusable. Anybody may submit the owner's signature.
    function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
        _cancel(authorizer, nonce, abi.encodePacked(r, s, v));
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature) external {
        _cancel(authorizer, nonce, signature);
    }

    function _execute(bytes32 typehash, Terms memory terms, bytes memory signature)
        private
        whenNotPaused
        notBlacklisted(terms.from)
        notBlacklisted(terms.to)
    {
        if (typehash == RECEIVE_WITH_AUTHORIZATION_TYPEHASH) {
            require(msg.sender == terms.to, "FiatTokenV2: caller must be the payee");
        }
        require(block.timestamp > terms.validAfter, "FiatTokenV2: authorization is not yet valid");
        require(block.timestamp < terms.validBefore, "FiatTokenV2: authorization is expired");
        _requireUnused(terms.from, terms.nonce);
        _requireSigned(terms.from, keccak256(abi.encode(typehash, terms)), signature);

        _authorizationStates[terms.from][terms.nonce] = true;
        emit AuthorizationUsed(terms.from, terms.nonce);
        _requirePolicies(msg.sender, terms.from, terms.to);
        _move(terms.from, terms.to, terms.value);
    }

    function _cancel(address authorizer, bytes32 nonce, bytes memory signature) private whenNotPaused {
        _requireUnused(authorizer, nonce);
        _requireSigned(
            authorizer, keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce)), signature
        );
        _authorizationStates[authorizer][nonce] = true;
        emit AuthorizationCanceled(authorizer, nonce);
    }

    function _requireUnused(address authorizer, bytes32 nonce) private view {
        require(!_authorizationStates[authorizer][nonce], "FiatTokenV2: authorization is used or canceled");
    }

    function _requireSigned(address signer, bytes32 messageHash, bytes memory signature) private view {
        require(_isSigned(signer, messageHash, signature), "FiatTokenV2: invalid signature");
    }
}
