// Differences of accounts, as the prestate tracer returns them in its difference mode.

/** @typedef {{balance?: string, nonce?: number, code?: string, storage?: Record<string, string>}} AccountState */
/** @typedef {{pre: Record<string, AccountState>, post: Record<string, AccountState>}} StateDiff */
/**
 * @typedef {{address: string, field: string, before: string | null, after: string | null,
 *   kind: 'balance' | 'nonce' | 'code' | 'slot'}} Change
 */

const ZERO_WORD = `0x${'0'.repeat(64)}`;

/**
 * Returns one row for each changed field. An account without a `post` entry is deleted; a field without one is
 * unchanged.
 * @param {StateDiff} diff
 * @returns {Change[]}
 */
export function listChanges({ pre, post }) {
  const addresses = [...new Set([...Object.keys(pre), ...Object.keys(post)])];
  return addresses.flatMap((address) => accountChanges(address, pre[address], post[address]));
}

/** @param {string} address @param {AccountState | undefined} before @param {AccountState | undefined} after */
function accountChanges(address, before, after) {
  /** @type {Change[]} */
  const changes = [];
  const isDeleted = after === undefined;
  for (const kind of /** @type {const} */ (['balance', 'nonce', 'code'])) {
    const [old, next] = [before?.[kind], after?.[kind]];
    if (next === undefined && !(isDeleted && old !== undefined)) continue;
    const text = (/** @type {string | number | undefined} */ value) => (value === undefined ? null : String(value));
    changes.push({ address, field: kind, kind, before: text(old), after: text(next) });
  }
  const slots = new Set([...Object.keys(before?.storage ?? {}), ...Object.keys(after?.storage ?? {})]);
  for (const slot of slots) {
    // The tracer omits slots that are zero.
    const [old, next] = [before?.storage?.[slot] ?? ZERO_WORD, after?.storage?.[slot] ?? ZERO_WORD];
    if (old !== next) changes.push({ address, field: slot, kind: 'slot', before: old, after: next });
  }
  return changes;
}
