// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

import {TokenStorage} from "./TokenStorage.sol";

/// Roles and their permissions: owner, pauser, blacklister, master minter and rescuer, as in FiatTokenV2_2.
///
/// The owner names the others. Revert strings are FiatToken's, because payment software parses them.
abstract contract Roles is TokenStorage {
    using SafeERC20 for IERC20;

    event OwnershipTransferred(address previousOwner, address newOwner);
    event PauserChanged(address indexed newAddress);
    event Pause();
    event Unpause();
    event BlacklisterChanged(address indexed newBlacklister);
    event Blacklisted(address indexed _account);
    event UnBlacklisted(address indexed _account);
    event MasterMinterChanged(address indexed newMasterMinter);
    event RescuerChanged(address indexed newRescuer);

    /// Bit 255 of the word that has an account's balance.
    uint256 internal constant BLACKLISTED = 1 << 255;

    modifier onlyOwner() {
        require(msg.sender == _owner, "Ownable: caller is not the owner");
        _;
    }

    modifier onlyPauser() {
        require(msg.sender == pauser, "Pausable: caller is not the pauser");
        _;
    }

    modifier onlyBlacklister() {
        require(msg.sender == blacklister, "Blacklistable: caller is not the blacklister");
        _;
    }

    modifier whenNotPaused() {
        require(!paused, "Pausable: paused");
        _;
    }

    modifier notBlacklisted(address account) {
        require(!_isBlacklisted(account), "Blacklistable: account is blacklisted");
        _;
    }

    function owner() external view returns (address) {
        return _owner;
    }

    function rescuer() external view returns (address) {
        return _rescuer;
    }

    function isBlacklisted(address account) external view returns (bool) {
        return _isBlacklisted(account);
    }

    function transferOwnership(address newOwner) external onlyOwner {
        require(newOwner != address(0), "Ownable: new owner is the zero address");
        emit OwnershipTransferred(_owner, newOwner);
        _owner = newOwner;
    }

    function updatePauser(address newPauser) external onlyOwner {
        require(newPauser != address(0), "Pausable: new pauser is the zero address");
        pauser = newPauser;
        emit PauserChanged(newPauser);
    }

    function updateBlacklister(address newBlacklister) external onlyOwner {
        require(newBlacklister != address(0), "Blacklistable: new blacklister is the zero address");
        blacklister = newBlacklister;
        emit BlacklisterChanged(newBlacklister);
    }

    function updateMasterMinter(address newMasterMinter) external onlyOwner {
        require(newMasterMinter != address(0), "FiatToken: new masterMinter is the zero address");
        masterMinter = newMasterMinter;
        emit MasterMinterChanged(newMasterMinter);
    }

    function updateRescuer(address newRescuer) external onlyOwner {
        require(newRescuer != address(0), "Rescuable: new rescuer is the zero address");
        _rescuer = newRescuer;
        emit RescuerChanged(newRescuer);
    }

    function pause() external onlyPauser {
        paused = true;
        emit Pause();
    }

    function unpause() external onlyPauser {
        paused = false;
        emit Unpause();
    }

    function blacklist(address account) external onlyBlacklister {
        _blacklist(account);
        emit Blacklisted(account);
    }

    function unBlacklist(address account) external onlyBlacklister {
        _balanceAndBlacklist[account] &= ~BLACKLISTED;
        emit UnBlacklisted(account);
    }

    /// Send on tokens that were sent to this contract by mistake.
    function rescueERC20(IERC20 tokenContract, address to, uint256 amount) external {
        require(msg.sender == _rescuer, "Rescuable: caller is not the rescuer");
        tokenContract.safeTransfer(to, amount);
    }

    function _blacklist(address account) internal {
        _balanceAndBlacklist[account] |= BLACKLISTED;
    }

    function _isBlacklisted(address account) internal view returns (bool) {
        return _balanceAndBlacklist[account] & BLACKLISTED != 0;
    }
}
