// Tokens: their names, and transfers from logs.

import { Interface, encodeCall, topicOf } from '../lib/abi/interface.js';
import { decodeValues } from '../lib/abi/decode.js';
import { parseParameter } from '../lib/abi/types.js';
import { RpcError } from '../lib/rpc.js';
import { visibleName } from '../lib/text.js';
import { hexToBytes, validDecimals } from '../lib/values.js';
import { STANDARD_ABIS } from './abis.js';

/** @typedef {import('../lib/rpc.js').RpcClient} RpcClient */
/** @typedef {{symbol: string | null, name: string | null, decimals: number | null}} Token */
/**
 * Movement of tokens. ERC-20 has `amount`; ERC-721 has `id`; ERC-1155 has both.
 * @typedef {{standard: 'ERC-20' | 'ERC-721' | 'ERC-1155', from: string, to: string, amount: bigint | null,
 *   id: bigint | null}} Transfer
 */
/** @typedef {{address: string, topics: string[], data: string, logIndex: string}} ReceiptLog */
/** @typedef {{transfers: {key: string, token: string, transfer: Transfer}[], hasMore: boolean}} FoundTransfers */

const ERC20 = Interface.parse(STANDARD_ABIS['ERC-20']);
const ERC721 = Interface.parse(STANDARD_ABIS['ERC-721']);
const ERC1155 = Interface.parse(STANDARD_ABIS['ERC-1155']);
/** Characters of an encoded name; longer ones are no names, and decoding them takes time. */
const MAX_NAME_DATA = 20_000;
/** Transfers of a transaction that its overview shows; the tab with the logs has all. */
const MAX_TRANSFERS = 10;
/** Logs that are searched for transfers. */
const MAX_LOGS = 500;
/** Characters of the data of a log that is decoded. A batch of ERC-1155 may be longer, and is in the logs only. */
const MAX_LOG_DATA = 20_000;
const TEXT = parseParameter({ type: 'string' });

/** @param {Interface} contract @param {string} name */
function event(contract, name) {
  const found = contract.events.find((one) => one.name === name);
  if (!found) throw new Error(`the interface has no event ${name}`);
  return topicOf(found);
}

const TRANSFER = event(ERC20, 'Transfer');
const MULTI = [event(ERC1155, 'TransferSingle'), event(ERC1155, 'TransferBatch')];

/**
 * Returns the filters that find all token transfers from and to an address.
 * @param {string} address
 * @returns {{topics: (string | string[] | null)[]}[]}
 */
export function transferFilters(address) {
  const topic = `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
  return [
    { topics: [TRANSFER, topic] },
    { topics: [TRANSFER, null, topic] },
    { topics: [MULTI, null, topic] },
    { topics: [MULTI, null, null, topic] },
  ];
}

/**
 * Returns the transfers of a log; none if it is not one of a standard.
 * @param {{topics: string[], data: string}} log
 * @returns {Transfer[]}
 */
export function transfersOf(log) {
  const fungible = values(ERC20, log);
  if (fungible) {
    const [from, to, amount] = fungible;
    return [{ standard: 'ERC-20', from, to, amount, id: null }];
  }
  const unique = values(ERC721, log);
  if (unique) {
    const [from, to, id] = unique;
    return [{ standard: 'ERC-721', from, to, amount: null, id }];
  }
  const multi = values(ERC1155, log);
  if (!multi) return [];
  const [, from, to, ids, amounts] = multi;
  const list = Array.isArray(ids) ? ids.map((id, index) => [id, amounts[index]]) : [[ids, amounts]];
  return list.map(([id, amount]) => ({ standard: 'ERC-1155', from, to, id, amount: amount ?? null }));
}

/**
 * Returns the first transfers of a receipt, and if there may be more.
 * @param {readonly ReceiptLog[]} logs
 * @returns {FoundTransfers}
 */
export function findTransfers(logs) {
  /** @type {FoundTransfers['transfers']} */
  const found = [];
  let isSkipped = logs.length > MAX_LOGS;
  for (const { address, topics, data, logIndex } of logs.slice(0, MAX_LOGS)) {
    if (found.length > MAX_TRANSFERS) break;
    if (data.length > MAX_LOG_DATA) isSkipped = true;
    else transfersOf({ topics, data }).forEach((transfer, index) => found.push({ key: `${logIndex}-${index}`, token: address, transfer }));
  }
  return { transfers: found.slice(0, MAX_TRANSFERS), hasMore: isSkipped || found.length > MAX_TRANSFERS };
}

/** @param {Interface} contract @param {{topics: string[], data: string}} log @returns {any[] | null} */
function values(contract, log) {
  const decoded = contract.decodeLog(log);
  if (!decoded?.fragment.name.startsWith('Transfer')) return null;
  return decoded.arguments.map((argument) => argument.value);
}

/** @type {Map<string, Promise<Token>>} */
const cache = new Map();

/** Returns what `loadToken` has read or is reading; null if nothing. @param {string} address */
export const cachedToken = (address) => cache.get(address.toLowerCase()) ?? null;

/**
 * Returns the name, symbol and decimals of a token; null for what the contract does not report. The state is that of
 * the newest step, because a transfer may be shown before its block is sealed.
 * @param {RpcClient} rpc
 * @param {string} address
 * @returns {Promise<Token>}
 */
export function loadToken(rpc, address) {
  const key = address.toLowerCase();
  const cached = cache.get(key);
  if (cached) return cached;
  const loading = readToken(rpc, address);
  cache.set(key, loading);
  // A withdrawn step may have created the contract, and a failure says nothing about it: both are read again.
  loading.then(({ name, symbol, decimals }) => {
    if (name === null && symbol === null && decimals === null) cache.delete(key);
  }, () => cache.delete(key));
  return loading;
}

/** @param {RpcClient} rpc @param {string} address @returns {Promise<Token>} */
async function readToken(rpc, address) {
  /** @param {string} name */
  const read = (name) => {
    const fragment = ERC20.functions.find((one) => one.name === name);
    const data = fragment ? encodeCall(fragment, []) : '0x';
    return rpc.call('eth_call', [{ to: address, data }, 'pending']).catch((error) => {
      if (error instanceof RpcError) return '0x';
      throw error;
    });
  };
  const [name, symbol, decimals] = await Promise.all(['name', 'symbol', 'decimals'].map(read));
  return { name: textOf(name), symbol: textOf(symbol), decimals: decimalsOf(decimals) };
}

/** Early tokens return their name as 32 bytes. @param {string} data */
function textOf(data) {
  if (data.length > MAX_NAME_DATA) return null;
  try {
    const bytes = hexToBytes(data);
    if (bytes.length === 0) return null;
    const end = bytes.indexOf(0);
    const text = bytes.length === 32
      ? new TextDecoder().decode(bytes.slice(0, end < 0 ? 32 : end))
      : String(decodeValues([TEXT], bytes)[0]);
    return visibleName(text) || null;
  } catch {
    return null;
  }
}

/** @param {string} data */
function decimalsOf(data) {
  if (data.length !== 66) return null;
  return validDecimals(Number(BigInt(data)));
}

/**
 * Returns the balances of an account, by token; null where the call fails.
 * @param {RpcClient} rpc
 * @param {string} account
 * @param {readonly string[]} tokens
 * @param {unknown} block
 * @param {AbortSignal} signal
 * @returns {Promise<(bigint | null)[]>}
 */
export function loadBalances(rpc, account, tokens, block, signal) {
  const fragment = ERC20.functions.find((one) => one.name === 'balanceOf');
  if (!fragment) return Promise.resolve([]);
  const data = encodeCall(fragment, [account]);
  return Promise.all(tokens.map((to) =>
    rpc.call('eth_call', [{ to, data }, block], { signal }).then(
      (result) => (typeof result === 'string' && result.length === 66 ? BigInt(result) : null),
      (error) => {
        if (signal.aborted) throw error;
        return null;
      },
    )));
}

