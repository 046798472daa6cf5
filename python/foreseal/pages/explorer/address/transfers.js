// Token transfers of an account, from logs, and the tokens that they name.

import { Empty, Loaded, Loading } from '../../lib/components/errors.js';
import { SearchProgress, usePagedSearch } from '../../lib/components/paged-search.js';
import { useRequest } from '../../lib/components/request.js';
import { Badge, Table } from '../../lib/components/table.js';
import { html } from '../../lib/components/ui.js';
import { isSameAddress } from '../../lib/address.js';
import { NewestFirst, openBlock } from '../../lib/log-pages.js';
import { MergedPages } from '../../lib/merged-pages.js';
import { PageReader } from '../../lib/page-reader.js';
import { formatTokens, parseCount } from '../../lib/values.js';
import { rpc } from '../context.js';
import { AddressLink, BlockLink, TransactionLink, blockParameter } from '../links.js';
import { TokenName, TransferAmount } from '../token-amount.js';
import { loadBalances, loadToken, transferFilters, transfersOf } from '../tokens.js';

/**
 * @template T
 * @typedef {import('../../lib/components/table.js').Column<T>} Column
 */
/** @typedef {import('../tokens.js').Transfer} Transfer */
/** @typedef {import('../tokens.js').Token} Token */
/** @typedef {import('../links.js').StateAt} StateAt */
/** @typedef {Transfer & {token: string, block: number, transaction: string, key: string}} Row */

const PAGE = 25;
const MAX_TOKENS = 40;

/** @param {Record<string, any>} log @returns {Row[]} */
function rowsOf(log) {
  return transfersOf(/** @type {any} */ (log)).map((transfer, index) => ({
    ...transfer,
    token: log['address'],
    block: parseCount(log['blockNumber']),
    transaction: log['transactionHash'],
    key: `${log['transactionHash']}-${log['logIndex']}-${index}`,
  }));
}

/** Reads transfers page by page. @param {string} address */
export const useTransfers = (address) => usePagedSearch(async (signal) => {
  const open = await openBlock(rpc, signal);
  const opening = transferFilters(address).map((filter) => NewestFirst.create(rpc, filter, { limit: PAGE, open }, signal));
  return new PageReader(new MergedPages(await Promise.all(opening)), PAGE);
}, rowsOf, address);

/** @typedef {ReturnType<typeof useTransfers>} Transfers */

/** @param {{address: string, transfers: Transfers}} props */
export function TransferList({ address, transfers }) {
  const { rows, isLoading, isPaused, error } = transfers;
  const hasEnded = !isLoading && !isPaused && !error;
  /** @param {Row} row */
  const otherParty = (row) => (isSameAddress(row.from, address) ? row.to : row.from);
  /** @type {Column<Row>[]} */
  const columns = [
    { label: 'Block', numeric: true, cell: (row) => html`<${BlockLink} number=${row.block} />` },
    { label: 'Transaction', cell: (row) => html`<${TransactionLink} hash=${row.transaction} />` },
    {
      label: 'Direction',
      cell: (row) => {
        if (isSameAddress(row.from, row.to)) return html`<${Badge}>self</${Badge}>`;
        const isOut = isSameAddress(row.from, address);
        return html`<${Badge} tone=${isOut ? 'warn' : 'good'}>${isOut ? 'out' : 'in'}</${Badge}>`;
      },
    },
    { label: 'Other party', cell: (row) => html`<${AddressLink} address=${otherParty(row)} copy=${false} />` },
    { label: 'Amount', numeric: true, cell: (row) => html`<${TransferAmount} transfer=${row} token=${row.token} />` },
    {
      label: 'Token',
      cell: (row) => html`<${TokenName} address=${row.token} /> <span class="muted small">${row.standard}</span>`,
    },
  ];
  return html`
    ${(rows.length > 0 || hasEnded) && html`<${Table} caption="Token transfers, the newest first" columns=${columns} rows=${rows}
      rowKey=${(/** @type {Row} */ row) => row.key} empty="No token transfers." />`}
    <${SearchProgress} search=${transfers} label="Searching the logs" more="Older transfers" />
  `;
}

/** @param {{address: string, at: StateAt, transfers: Transfers}} props */
export function TokenList({ address, at, transfers }) {
  const fungible = transfers.rows.filter((row) => row.standard === 'ERC-20');
  const tokens = [...new Set(fungible.map((row) => row.token))].slice(0, MAX_TOKENS);
  const request = useRequest(async (signal) => {
    const [balances, details] = await Promise.all([
      loadBalances(rpc, address, tokens, blockParameter(at), signal),
      Promise.all(tokens.map((token) => loadToken(rpc, token))),
    ]);
    return details.map((one, index) => ({ token: tokens[index] ?? '', balance: balances[index] ?? null, details: one }));
  }, [address, tokens.join(), at.block, at.step]);
  /** @typedef {{token: string, balance: bigint | null, details: Token}} Holding */
  /** @type {Column<Holding>[]} */
  const columns = [
    {
      label: 'Token',
      cell: ({ details }) => html`<span class="token"><strong>${details.symbol ?? 'no symbol'}</strong>${' '}
        <span class="muted name">${details.name}</span></span>`,
    },
    { label: 'Contract', cell: (row) => html`<${AddressLink} address=${row.token} />` },
    {
      label: 'Balance',
      numeric: true,
      cell: ({ balance, details }) => (balance === null ? '–' : formatTokens(balance, details.decimals)),
    },
  ];
  if (transfers.isLoading && tokens.length === 0) return html`<${Loading} label="Searching the logs" />`;
  if (tokens.length === 0) return html`<${Empty}>No ERC-20 token appears in the transfers that are loaded.</${Empty}>`;
  return html`<${Loaded} request=${request} label="Reading balances">${(/** @type {Holding[]} */ holdings) => html`
    <${Table} caption="ERC-20 tokens" columns=${columns} rows=${holdings}
      rowKey=${(/** @type {Holding} */ row) => row.token} />`}
  </${Loaded}>
  <p class="muted">Tokens of the transfers loaded so far. Anyone can send a token with any name: compare its contract.</p>`;
}
