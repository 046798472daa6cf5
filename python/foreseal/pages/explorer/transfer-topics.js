// Logs that look like token transfers, found without decoding them: every step of the chain is searched.

/** Transfer of ERC-20 and ERC-721, TransferSingle and TransferBatch of ERC-1155. */
export const TRANSFER_TOPICS = [
  '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
  '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62',
  '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb',
];
/** Logs of a transaction that are searched. */
const MAX_LOGS = 500;
/** Characters of the data of a log that a list decodes. */
const MAX_LOG_DATA = 2000;

/** @typedef {import('./tokens.js').ReceiptLog} ReceiptLog */
/** First transfer of a transaction, and if more follow. @typedef {{log: ReceiptLog, hasMore: boolean}} FirstTransfer */

/**
 * Returns the first log of a receipt that looks like a token transfer, or null.
 * @param {readonly ReceiptLog[]} logs
 * @returns {FirstTransfer | null}
 */
export function firstTransfer(logs) {
  /** @type {ReceiptLog | null} */
  let first = null;
  for (const { address, topics, data, logIndex } of logs.slice(0, MAX_LOGS)) {
    if (!TRANSFER_TOPICS.includes(topics[0] ?? '') || data.length > MAX_LOG_DATA) continue;
    if (first !== null) return { log: first, hasMore: true };
    first = { address, topics, data, logIndex };
  }
  return first === null ? null : { log: first, hasMore: logs.length > MAX_LOGS };
}
