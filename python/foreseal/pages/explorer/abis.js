// Interfaces that the explorer decodes with: standards, the project's own contracts, and those that the reader pasted.

import { Interface } from '../lib/abi/interface.js';
import { isSameAddress } from '../lib/address.js';

/** @typedef {import('../lib/abi/interface.js').Decoded} Decoded */
/** @typedef {import('../lib/abi/interface.js').RawLog} RawLog */
/** @typedef {{name: string, contract: Interface}} NamedInterface */

/** Interfaces of standards, by name. Those whose events are used most come first. */
export const STANDARD_ABIS = {
  'ERC-20': `
event Transfer(address indexed from, address indexed to, uint256 value)
event Approval(address indexed owner, address indexed spender, uint256 value)
function name() view returns (string)
function symbol() view returns (string)
function decimals() view returns (uint8)
function totalSupply() view returns (uint256)
function balanceOf(address account) view returns (uint256)
function allowance(address owner, address spender) view returns (uint256)
function transfer(address to, uint256 value) returns (bool)
function approve(address spender, uint256 value) returns (bool)
function transferFrom(address from, address to, uint256 value) returns (bool)`,
  'ERC-721': `
event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)
event Approval(address indexed owner, address indexed approved, uint256 indexed tokenId)
event ApprovalForAll(address indexed owner, address indexed operator, bool approved)
function name() view returns (string)
function symbol() view returns (string)
function tokenURI(uint256 tokenId) view returns (string)
function balanceOf(address owner) view returns (uint256)
function ownerOf(uint256 tokenId) view returns (address)
function getApproved(uint256 tokenId) view returns (address)
function isApprovedForAll(address owner, address operator) view returns (bool)
function supportsInterface(bytes4 interfaceId) view returns (bool)
function approve(address to, uint256 tokenId)
function setApprovalForAll(address operator, bool approved)
function transferFrom(address from, address to, uint256 tokenId)
function safeTransferFrom(address from, address to, uint256 tokenId)
function safeTransferFrom(address from, address to, uint256 tokenId, bytes data)`,
  'ERC-1155': `
event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)
event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)
event ApprovalForAll(address indexed account, address indexed operator, bool approved)
event URI(string value, uint256 indexed id)
function uri(uint256 id) view returns (string)
function balanceOf(address account, uint256 id) view returns (uint256)
function balanceOfBatch(address[] accounts, uint256[] ids) view returns (uint256[])
function isApprovedForAll(address account, address operator) view returns (bool)
function supportsInterface(bytes4 interfaceId) view returns (bool)
function setApprovalForAll(address operator, bool approved)
function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data)
function safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] values, bytes data)`,
  'ERC-3009': `
event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)
event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)
function authorizationState(address authorizer, bytes32 nonce) view returns (bool)
function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)
function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)
function receiveWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)
function receiveWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)
function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)
function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)`,
};

/** Contracts that have the same address on every chain. */
const FIXED_ADDRESSES = /** @type {const} */ ([
  ['0x000000000022D473030F116dDEE9F6B43aC78BA3', 'Permit2'],
  ['0x402085c248EeA27D92E8b30b2C58ed07f9E20001', 'ExactPermit2Proxy'],
  ['0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002', 'UptoPermit2Proxy'],
  ['0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003', 'BatchSettlement'],
  ['0x4020806089470a89826cB9fB1f4059150b550004', 'Erc3009DepositCollector'],
  ['0x4020425FAf3B746C082C2f942b4E5159887B0005', 'Permit2DepositCollector'],
  ['0xcA11bde05977b3631167028862bE2a173976CA11', 'Multicall3'],
]);

const STORAGE_PREFIX = 'foreseal.abi.';
/** @type {NamedInterface[] | null} */
let loaded = null;
/** @type {Map<string, NamedInterface>} */
const pasted = new Map();

/** Returns all built-in interfaces. The project's contracts are loaded with the first call. */
export async function builtInInterfaces() {
  if (loaded === null) {
    const { CONTRACT_ABIS } = await import('./contract-abis.js');
    loaded = Object.entries({ ...STANDARD_ABIS, ...CONTRACT_ABIS }).map(([name, text]) => ({
      name,
      contract: Interface.parse(text),
    }));
  }
  return loaded;
}

/** Returns the name of a contract at a fixed address. @param {string} address */
export const fixedContractName = (address) => FIXED_ADDRESSES.find(([fixed]) => isSameAddress(fixed, address))?.[1] ?? null;

/**
 * Returns the ABI text that the reader pasted for a contract, or null.
 * @param {string} address
 */
export function storedAbi(address) {
  try {
    return localStorage.getItem(STORAGE_PREFIX + address.toLowerCase());
  } catch {
    return null;
  }
}

/**
 * Stores an ABI for a contract in this browser; null removes it.
 * @param {string} address
 * @param {string | null} text
 */
export function storeAbi(address, text) {
  pasted.delete(address.toLowerCase());
  try {
    if (text === null) localStorage.removeItem(STORAGE_PREFIX + address.toLowerCase());
    else localStorage.setItem(STORAGE_PREFIX + address.toLowerCase(), text);
  } catch {
    // Without storage, the ABI applies to this page only.
    if (text !== null) pasted.set(address.toLowerCase(), { name: 'Pasted ABI', contract: Interface.parse(text) });
  }
}

/** @param {string} address @returns {NamedInterface | null} */
export function pastedInterface(address) {
  const cached = pasted.get(address.toLowerCase());
  if (cached) return cached;
  const text = storedAbi(address);
  if (text === null) return null;
  try {
    const found = { name: 'Pasted ABI', contract: Interface.parse(text) };
    pasted.set(address.toLowerCase(), found);
    return found;
  } catch {
    return null;
  }
}

/**
 * Returns the interfaces to decode a contract's calls and logs with, in order.
 * @param {string | null} address
 */
async function interfacesFor(address) {
  const own = address === null ? null : pastedInterface(address);
  const all = await builtInInterfaces();
  const fixed = address === null ? null : fixedContractName(address);
  const first = all.filter(({ name }) => name === fixed);
  return [...(own ? [own] : []), ...first, ...all];
}

/** @template T @param {string | null} address @param {(contract: Interface) => T | null} decode */
async function firstDecoded(address, decode) {
  for (const { name, contract } of await interfacesFor(address)) {
    const found = decode(contract);
    if (found) return { ...found, source: name };
  }
  return null;
}

/** Returns the function and arguments of a call, or null. @param {string | null} address @param {string} data */
export const decodeCall = (address, data) => firstDecoded(address, (contract) => contract.decodeCall(data));

/** Returns the event of a log, or null. @param {RawLog & {address: string}} log */
export const decodeLog = (log) => firstDecoded(log.address, (contract) => contract.decodeLog(log));

/** Errors that the compiler adds to every contract. */
const COMPILER_ERRORS = new Interface([]);

/** Returns the error that a reverted call returned, or null. @param {string | null} address @param {string} data */
export async function decodeError(address, data) {
  const common = COMPILER_ERRORS.decodeError(data);
  return common ? { ...common, source: 'Solidity' } : firstDecoded(address, (contract) => contract.decodeError(data));
}

/**
 * Returns the built-in interface whose functions the code of a contract contains, the largest such one.
 * @param {string} code
 */
export async function guessInterface(code) {
  const text = code.toLowerCase();
  const all = await builtInInterfaces();
  // The compiler omits leading zero bytes of a selector.
  const digits = (/** @type {string} */ selector) => selector.slice(2).replace(/^(00)+/, '');
  const fits = all.filter(({ contract: { selectors } }) =>
    selectors.length > 0 && selectors.every((selector) => text.includes(digits(selector))));
  return fits.sort((one, other) => other.contract.selectors.length - one.contract.selectors.length)[0] ?? null;
}
