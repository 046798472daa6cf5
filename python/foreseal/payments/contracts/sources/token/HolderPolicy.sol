// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Roles} from "./Roles.sol";

/// Holder policies: they restrict senders, receivers and executors of transfers, in addition to the blacklist and the
/// pause.
///
/// A policy is an allow-list or a block-list of accounts. The owner creates policies, updates their lists and activates
/// one for each of three scopes. Names, scopes and numbering are those of Base's memo token (B20): a policy's id has
/// its kind in the top byte and a counter below. Id 0, an empty block-list, allows everybody and is active at first. Id
/// 2**56 + 1, an empty allow-list, forbids everybody. Both always exist and their lists stay empty.
///
/// The executor submits a transfer of another account's tokens: `transferFrom`, or an EIP-3009 authorization. Minting
/// and burning have roles of their own and no policy.
abstract contract HolderPolicy is Roles {
    enum PolicyKind {
        BlockList,
        AllowList
    }

    /// The policy of a scope does not allow the account of that scope.
    error PolicyForbids(bytes32 scope, uint64 policyId);
    /// The policy does not exist, or its list must stay empty.
    error PolicyNotFound(uint64 policyId);
    /// Neither sender, receiver nor executor.
    error UnknownPolicyScope(bytes32 scope);

    event PolicyCreated(uint64 indexed policyId, PolicyKind kind);
    event PolicyMembersUpdated(uint64 indexed policyId, bool listed, address[] accounts);
    event PolicyUpdated(bytes32 indexed scope, uint64 oldPolicyId, uint64 newPolicyId);

    bytes32 public constant TRANSFER_SENDER_POLICY = keccak256("TRANSFER_SENDER_POLICY");
    bytes32 public constant TRANSFER_RECEIVER_POLICY = keccak256("TRANSFER_RECEIVER_POLICY");
    bytes32 public constant TRANSFER_EXECUTOR_POLICY = keccak256("TRANSFER_EXECUTOR_POLICY");

    uint64 public constant ALWAYS_ALLOW = 0;
    uint64 public constant ALWAYS_BLOCK = (uint64(PolicyKind.AllowList) << 56) | 1;

    /// The active policy of a scope.
    function policyId(bytes32 scope) external view returns (uint64) {
        return _policyOf(scope);
    }

    /// Returns `true` if a policy allows an account.
    function isAuthorized(uint64 id, address account) public view returns (bool) {
        bool listed = _policyMembers[id][account];
        return id >> 56 == uint64(PolicyKind.AllowList) ? listed : !listed;
    }

    /// Create a policy whose list begins with `accounts`. It is not active in any scope.
    function createPolicy(PolicyKind kind, address[] calldata accounts) external onlyOwner returns (uint64 id) {
        uint256 counter = _newestPolicy == 0 ? 2 : _newestPolicy + 1;
        _newestPolicy = counter;
        id = (uint64(kind) << 56) | uint56(counter);
        _policyCreated[id] = true;
        emit PolicyCreated(id, kind);
        _list(id, true, accounts);
    }

    /// Add accounts to the list of a policy, or remove them.
    function updatePolicyMembers(uint64 id, bool listed, address[] calldata accounts) external onlyOwner {
        if (!_policyCreated[id]) revert PolicyNotFound(id);
        _list(id, listed, accounts);
    }

    /// Activate a policy for a scope.
    function updatePolicy(bytes32 scope, uint64 id) external onlyOwner {
        if (id != ALWAYS_ALLOW && id != ALWAYS_BLOCK && !_policyCreated[id]) revert PolicyNotFound(id);
        emit PolicyUpdated(scope, _policyOf(scope), id);
        if (scope == TRANSFER_SENDER_POLICY) _policyIds.sender = id;
        else if (scope == TRANSFER_RECEIVER_POLICY) _policyIds.receiver = id;
        else _policyIds.executor = id;
    }

    /// Reverts unless the policies let `executor` move tokens from `from` to `to`.
    function _requirePolicies(address executor, address from, address to) internal view {
        uint256 inForce;
        assembly ("memory-safe") {
            inForce := sload(_policyIds.slot)
        }
        if (inForce == 0) return;
        PolicyIds memory ids = _policyIds;
        if (executor != from) _requirePolicy(TRANSFER_EXECUTOR_POLICY, ids.executor, executor);
        _requirePolicy(TRANSFER_SENDER_POLICY, ids.sender, from);
        _requirePolicy(TRANSFER_RECEIVER_POLICY, ids.receiver, to);
    }

    function _requirePolicy(bytes32 scope, uint64 id, address account) private view {
        if (id != ALWAYS_ALLOW && !isAuthorized(id, account)) revert PolicyForbids(scope, id);
    }

    function _policyOf(bytes32 scope) private view returns (uint64) {
        if (scope == TRANSFER_SENDER_POLICY) return _policyIds.sender;
        if (scope == TRANSFER_RECEIVER_POLICY) return _policyIds.receiver;
        if (scope == TRANSFER_EXECUTOR_POLICY) return _policyIds.executor;
        revert UnknownPolicyScope(scope);
    }

    function _list(uint64 id, bool listed, address[] calldata accounts) private {
        for (uint256 index = 0; index < accounts.length; ++index) {
            _policyMembers[id][accounts[index]] = listed;
        }
        emit PolicyMembersUpdated(id, listed, accounts);
    }
}
