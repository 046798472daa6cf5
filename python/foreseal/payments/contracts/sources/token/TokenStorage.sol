// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The complete storage of the token: FiatTokenV2_2's slots first, its own after them.
///
/// Tools that read balances, the blacklist or the states of authorizations from storage find them in the slots of
/// Circle's token. A new variable goes to the end, and none is ever moved.
abstract contract TokenStorage {
    /// slot 0
    address internal _owner;
    /// slot 1, bytes 0 to 19
    address public pauser;
    /// slot 1, byte 20: `true` while all transfers are paused.
    bool public paused;
    /// slot 2
    address public blacklister;
    /// slot 3: where FiatToken had its blacklist before V2_2; read by `initializeV2_2` alone.
    mapping(address account => bool) internal _formerBlacklist;
    /// slot 4: also the name in the signing domain (EIP-712).
    string public name;
    /// slot 5
    string public symbol;
    /// slot 6
    uint8 public decimals;
    /// slot 7: the currency that the token stands for, such as USD.
    string public currency;
    /// slot 8, bytes 0 to 19: the account that appoints minters.
    address public masterMinter;
    /// slot 8, byte 20
    bool internal _initialized;
    /// slot 9: bit 255 is set for a blacklisted account; the others are its balance.
    mapping(address account => uint256) internal _balanceAndBlacklist;
    /// slot 10
    mapping(address owner => mapping(address spender => uint256)) internal _allowances;
    /// slot 11
    uint256 internal _totalSupply;
    /// slot 12
    mapping(address account => bool) internal _minters;
    /// slot 13: the amount that a minter may still mint.
    mapping(address minter => uint256) internal _minterAllowances;
    /// slot 14
    address internal _rescuer;
    /// slot 15: FiatToken cached its domain separator here before V2_2; written by `initializeV2`, never read.
    bytes32 internal _formerDomainSeparator;
    /// slot 16: `true` for a nonce of EIP-3009 that is used or canceled.
    mapping(address authorizer => mapping(bytes32 nonce => bool)) internal _authorizationStates;
    /// slot 17: the next nonce of EIP-2612.
    mapping(address owner => uint256) internal _permitNonces;
    /// slot 18, byte 0: number of the last `initialize` function that ran; 3 is V2_2.
    uint8 internal _initializedVersion;

    /// The active holder policy of each scope, packed so that a transfer reads a single slot.
    struct PolicyIds {
        uint64 sender;
        uint64 receiver;
        uint64 executor;
    }

    /// slot 19: zero while everything is allowed.
    PolicyIds internal _policyIds;
    /// slot 20: the counter of the newest policy; 0 and 1 always exist.
    uint256 internal _newestPolicy;
    /// slot 21: `true` for a policy that `createPolicy` created.
    mapping(uint64 policyId => bool) internal _policyCreated;
    /// slot 22: the accounts on the list of a policy.
    mapping(uint64 policyId => mapping(address account => bool)) internal _policyMembers;
}
