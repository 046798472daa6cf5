// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Roles} from "./Roles.sol";

/// Holder policies: who may send, receive and execute transfers, beside the blacklist and the pause.
///
/// A policy is an allow-list or a block-list of accounts. The owner creates policies, keeps their lists and puts one in force
/// for each of three scopes. Names, scopes and numbering are those of Base's memo token (B20): a policy's id has its kind in the
/// top byte and a counter below; id 0, an empty block-list, allows everybody and is in force at first; id 2**56 + 1, an
/// empty allow-list, forbids everybody. Both are always there and their lists stay empty.
///
/// The executor is who submits a transfer of somebody else's tokens: of `transferFrom`, or of an EIP-3009 authorization.
/// Minting and burning have roles of their own and no policy.
abstract contract HolderPolicy is Roles {
    enum PolicyKind {
        BlockList,
        AllowList
    }

    /// The policy of a scope does not let the account of that scope take part.
    error PolicyForbids(bytes32 scope, uint64 policyId);
    /// There is no such policy, or it is one whose list stays empty.
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

    /// The policy in force for a scope.
    function policyId(bytes32 scope) external view returns (uint64) {
        return _policyOf(scope);
    }

    /// Whether a policy lets an account take part.
    function isAuthorized(uint64 id, address account) public view returns (bool) {
        bool listed = _policyMembers[id][account];
        return id >> 56 == uint64(PolicyKind.AllowList) ? listed : !listed;
    }

    /// Create a policy whose list begins with `accounts`; it is in force nowhere yet.
    function createPolicy(PolicyKind kind, address[] calldata accounts) external onlyOwner returns (uint64 id) {
        uint256 counter = _newestPolicy == 0 ? 2 : _newestPolicy + 1;
        _newestPolicy = counter;
        id = (uint64(kind) << 56) | uint56(counter);
        _policyCreated[id] = true;
        emit PolicyCreated(id, kind);
        _list(id, true, accounts);
    }

    /// Put accounts on the list of a policy, or take them off it.
    function updatePolicyMembers(uint64 id, bool listed, address[] calldata accounts) external onlyOwner {
        if (!_policyCreated[id]) revert PolicyNotFound(id);
        _list(id, listed, accounts);
    }

    /// Put a policy in force for a scope.
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
