// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Authorizations} from "./Authorizations.sol";
import {Permits} from "./Permits.sol";
import {SigningDomain} from "./SigningDomain.sol";
import {Supply} from "./Supply.sol";

/// A dollar token with the interface, behaviour, revert strings and storage of Circle's FiatTokenV2_2, and with memos
/// and holder policies.
///
/// With a setup that names an owner, one transaction deploys it ready for use. Without an owner it requires calls of
/// the `initialize` functions, like FiatToken's implementation. Anybody may call them, so use that only behind a proxy,
/// in the transaction that sets the implementation.
contract PaymentToken is Supply, Authorizations, Permits {
    /// Initial values of a token that is ready for use.
    struct Setup {
        string name;
        string symbol;
        string currency;
        uint8 decimals;
        address masterMinter;
        address pauser;
        address blacklister;
        address owner;
    }

    /// `tokenVersion` is the version in the signing domain (EIP-712), at most 31 bytes.
    constructor(Setup memory setup, string memory tokenVersion) SigningDomain(tokenVersion) {
        _owner = msg.sender;
        if (setup.owner == address(0)) return;
        _initialize(setup);
        _initializeV2(setup.name);
        _initializeV2_1();
        _initializeV2_2(setup.symbol);
    }

    function initialize(
        string memory tokenName,
        string memory tokenSymbol,
        string memory tokenCurrency,
        uint8 tokenDecimals,
        address newMasterMinter,
        address newPauser,
        address newBlacklister,
        address newOwner
    ) external {
        _initialize(
            Setup(
                tokenName,
                tokenSymbol,
                tokenCurrency,
                tokenDecimals,
                newMasterMinter,
                newPauser,
                newBlacklister,
                newOwner
            )
        );
    }

    function initializeV2(string calldata newName) external {
        require(_initialized && _initializedVersion == 0);
        _initializeV2(newName);
    }

    /// Sends tokens that the token itself has to `lostAndFound`, and makes sure that it gets no more.
    function initializeV2_1(address lostAndFound) external {
        require(_initializedVersion == 1);
        uint256 locked = _balanceOf(address(this));
        if (locked > 0) _move(address(this), lostAndFound, locked);
        _initializeV2_1();
    }

    /// Moves accounts from the blacklist as it was before V2_2 to where it is now.
    function initializeV2_2(address[] calldata accountsToBlacklist, string calldata newSymbol) external {
        require(_initializedVersion == 2);
        for (uint256 index = 0; index < accountsToBlacklist.length; ++index) {
            address account = accountsToBlacklist[index];
            require(_formerBlacklist[account], "FiatTokenV2_2: Blacklisting previously unblacklisted account!");
            _blacklist(account);
            delete _formerBlacklist[account];
        }
        _initializeV2_2(newSymbol);
    }

    function _initialize(Setup memory setup) private {
        require(!_initialized, "FiatToken: contract is already initialized");
        require(setup.masterMinter != address(0), "FiatToken: new masterMinter is the zero address");
        require(setup.pauser != address(0), "FiatToken: new pauser is the zero address");
        require(setup.blacklister != address(0), "FiatToken: new blacklister is the zero address");
        require(setup.owner != address(0), "FiatToken: new owner is the zero address");
        name = setup.name;
        symbol = setup.symbol;
        currency = setup.currency;
        decimals = setup.decimals;
        masterMinter = setup.masterMinter;
        pauser = setup.pauser;
        blacklister = setup.blacklister;
        _owner = setup.owner;
        _initialized = true;
    }

    function _initializeV2(string memory newName) private {
        name = newName;
        _formerDomainSeparator = _domainSeparator();
        _initializedVersion = 1;
    }

    function _initializeV2_1() private {
        _blacklist(address(this));
        _initializedVersion = 2;
    }

    function _initializeV2_2(string memory newSymbol) private {
        symbol = newSymbol;
        _blacklist(address(this));
        delete _formerBlacklist[address(this)];
        _initializedVersion = 3;
    }
}
