// Payouts and splits: the list, and the upload of a CSV file with a preview.

import { describeError, Loading } from '../../lib/components/errors.js';
import { SelectField, TextField } from '../../lib/components/field.js';
import { Panel, Table } from '../../lib/components/table.js';
import { html, useEffect, useId, useMemo, useState } from '../../lib/components/ui.js';
import { isAbort } from '../../lib/rpc.js';
import { visibleName } from '../../lib/text.js';
import { Change, check, currentSession, may, segment, ServiceError } from '../api.js';
import { router } from '../context.js';
import { lineOfError, MAX_BYTES, parseRecipients } from '../csv.js';
import { ActionButton } from '../dialog.js';
import { Pages, usePages } from '../pages.js';
import { showResult } from '../result.js';
import { Account, parseAmount, Status } from '../shown.js';

/** @typedef {import('../types.js').Payout} Payout */
/** @typedef {import('../types.js').PayoutDetail} PayoutDetail */
/** @typedef {import('../types.js').PayoutPreview} PayoutPreview */
/** @typedef {PayoutPreview['recipients'][number]} Recipient */
/** @typedef {import('../csv.js').Leg} Leg */
/** @typedef {import('../csv.js').Problem} Problem */
/** @typedef {{path: string, body: object}} Batch */

const KINDS = [{ value: 'payout', label: 'Payout: an amount for each recipient' }, { value: 'split', label: 'Split: shares of one sum' }];

/** Milliseconds after a change until the service checks it. */
const PREVIEW_DELAY_MS = 250;
/** Recipients in the dialog that confirms a payout. */
const MAX_CONFIRMED = 10;

export const title = () => 'Payouts';

/** @param {{caption: string, recipients: readonly Recipient[]}} props */
function RecipientTable({ caption, recipients }) {
  return html`<${Table} caption=${caption} rows=${recipients} rowKey=${(/** @type {Recipient} */ _, /** @type {number} */ index) => String(index)} columns=${[
      { label: 'Recipient', cell: (/** @type {Recipient} */ each) => html`<${Account} address=${each.recipient} />` },
      { label: 'Amount', cell: (/** @type {Recipient} */ each) => visibleName(each.amount_shown, 60), numeric: true },
    ]} />`;
}

/** @param {{found: PayoutPreview}} props */
function Preview({ found }) {
  return html`<p role="status">${found.recipients.length} recipients, ${visibleName(found.amount_shown, 60)} in total</p>
    <${RecipientTable} caption="Preview" recipients=${found.recipients} />`;
}

/**
 * The button that sends a payout, after its amount and its recipients are confirmed.
 * @param {{found: PayoutPreview, send: () => Promise<PayoutDetail>}} props
 */
function Pay({ found, send }) {
  const count = found.recipients.length;
  const sum = visibleName(found.amount_shown, 60);
  const rest = count - MAX_CONFIRMED;
  return html`<${ActionButton} label=${`Pay ${count} recipients`} title="Send this payout?" confirm="Pay" isPrimary=${true} send=${send}
    onDone=${(/** @type {PayoutDetail} */ { payout }) => {
      router.navigate(`/payouts/${segment(payout.id)}`);
      showResult(`Payout of ${sum} to ${count} recipients submitted.`);
    }}>
    ${() => html`<p>${sum} from ${visibleName(found.destination ?? '')} to ${count} recipients. This cannot be undone.</p>
      <${RecipientTable} caption="Recipients of the payout" recipients=${found.recipients.slice(0, MAX_CONFIRMED)} />
      ${rest > 0 && html`<p class="muted">${rest} more are in the preview.</p>`}`}
  </${ActionButton}>`;
}

/**
 * Checks a batch by the service, a moment after its last change. The result is null until the service has answered.
 * @param {Batch | null} batch
 * @returns {{found: PayoutPreview | null, error: unknown, retry: () => void}}
 */
function usePreview(batch) {
  const [state, setState] = useState(/** @type {{key: string, found: PayoutPreview | null, error: unknown}} */ ({ key: '', found: null, error: null }));
  const [round, setRound] = useState(0);
  const key = batch === null ? '' : `${round} ${batch.path} ${JSON.stringify(batch.body)}`;
  useEffect(() => {
    if (batch === null) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      /** @type {Promise<PayoutPreview>} */
      const answer = check(`${batch.path}/preview`, batch.body, controller.signal);
      answer.then((found) => setState({ key, found, error: null }), (error) => {
        if (!isAbort(error)) setState({ key, found: null, error });
      });
    }, PREVIEW_DELAY_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [key]);
  const isCurrent = state.key === key;
  return {
    found: isCurrent ? state.found : null,
    error: isCurrent ? state.error : null,
    retry: () => setRound((count) => count + 1),
  };
}

/** @param {{problems: Problem[]}} props */
function Problems({ problems }) {
  return html`<div class="notice notice-error" role="alert"><ul class="problems">
    ${problems.slice(0, 100).map(({ line, message }) => html`<li key=${`${line}-${message}`}>${line > 0 && `Line ${line}: `}${message}</li>`)}
  </ul></div>`;
}

/**
 * Returns the request for a payout, or for a split if there is a total.
 * @param {string} destination @param {Leg[]} legs @param {bigint | null} total
 * @returns {Batch}
 */
function newBatch(destination, legs, total) {
  if (total === null) {
    return { path: '/v1/payouts', body: { destination, recipients: legs.map(({ recipient, amount }) => ({ recipient, amount: String(amount) })) } };
  }
  const shares = legs.map(({ recipient, amount }) => ({ recipient, basis_points: Number(amount) }));
  return { path: '/v1/splits', body: { destination, total: String(total), shares } };
}

/** @param {{destinations: import('../types.js').Destination[]}} props */
function Upload({ destinations }) {
  const input = useId();
  const [kind, setKind] = useState('payout');
  const [name, setName] = useState(destinations[0]?.name ?? '');
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const [total, setTotal] = useState('');
  const [change] = useState(() => new Change());
  const [answer, setAnswer] = useState(/** @type {Problem[]} */ ([]));
  const destination = destinations.find((each) => each.name === name);
  const decimals = destination?.decimals ?? 0;
  const isSplit = kind === 'split';
  const sum = isSplit ? parseAmount(total, decimals) : null;
  const parsed = useMemo(() => (text === null ? null : parseRecipients(text, { decimals, isSplit })), [text, decimals, isSplit]);
  /** @param {{currentTarget: HTMLInputElement}} event */
  const choose = async ({ currentTarget }) => {
    const file = currentTarget.files?.[0];
    setAnswer([]);
    if (file === undefined) setText(null);
    else if (file.size > MAX_BYTES) {
      setText(null);
      setAnswer([{ line: 0, message: `The file has ${file.size} bytes, at most ${MAX_BYTES} are possible.` }]);
    } else setText(await file.text());
  };
  // Otherwise browsers report no change if the same file is chosen again after it was edited.
  /** @param {{currentTarget: HTMLInputElement}} event */
  const forget = ({ currentTarget }) => {
    currentTarget.value = '';
  };
  const legs = parsed !== null && parsed.problems.length === 0 ? parsed.legs : null;
  const batch = legs === null || (isSplit && sum === null) ? null : newBatch(name, legs, sum);
  const preview = usePreview(batch);
  /** @param {unknown} error @returns {Problem} */
  const problemOf = (error) => (
    { line: (error instanceof ServiceError ? lineOfError(error, legs ?? []) : null) ?? 0, message: describeError(error) });
  /** @param {Batch} confirmed */
  const send = async ({ path, body }) => {
    setAnswer([]);
    try {
      return /** @type {PayoutDetail} */ (await change.send(path, body));
    } catch (error) {
      // The dialog shows the error; the page adds the line of the file, if the error is about one.
      const problem = problemOf(error);
      if (problem.line > 0) setAnswer([problem]);
      throw error;
    }
  };
  const problems = [...(parsed?.problems ?? []), ...(preview.error === null ? [] : [problemOf(preview.error)]), ...answer];
  return html`<div class="stack">
    <div class="form-row">
      <${SelectField} label="Kind" value=${kind} onChange=${setKind} options=${KINDS} />
      <${SelectField} label="From" value=${name} onChange=${setName}
        options=${destinations.map((each) => ({ value: each.name, label: `${visibleName(each.name)} (${visibleName(each.symbol)})` }))} />
      ${isSplit && html`<${TextField} label="Total" value=${total} onChange=${setTotal} inputmode="decimal"
        error=${total !== '' && sum === null ? 'must be an amount such as 12.50' : null} />`}
      <div class="field"><label for=${input}>CSV file</label>
        <input id=${input} class="input" type="file" accept=".csv,text/csv" onChange=${choose} onClick=${forget} aria-describedby=${`${input}-note`} />
        <p class="field-hint" id=${`${input}-note`}>Two columns: recipient, ${isSplit ? 'basis points' : 'amount in tokens'}</p></div>
    </div>
    ${problems.length > 0 && html`<${Problems} problems=${problems} />`}
    ${preview.error !== null && html`<p><button type="button" class="button" onClick=${preview.retry}>Check again</button></p>`}
    ${batch !== null && preview.found === null && preview.error === null && html`<${Loading} label="Checking" />`}
    ${batch !== null && preview.found !== null && html`<${Preview} found=${preview.found} />
      <p><${Pay} found=${preview.found} send=${() => send(batch)} /></p>`}
  </div>`;
}

export default function PayoutsPage() {
  /** @type {ReturnType<typeof usePages<Payout>>} */
  const list = usePages('/v1/payouts', {});
  const destinations = currentSession().destinations.filter((each) => each.pays_out);
  return html`<h1>Payouts</h1>
    ${may('POST /v1/payouts') && html`<${Panel} title="New payout">
      ${destinations.length === 0 ? html`<p class="empty">No destination has a payouts contract.</p>` : html`<${Upload} destinations=${destinations} />`}
    </${Panel}>`}
    <${Panel} title="Payouts">
      <${Pages} list=${list}><${Table} caption="Payouts, newest first" rows=${list.items} empty=${list.isLoading ? '' : 'No payouts.'}
        rowKey=${(/** @type {Payout} */ each) => each.id} columns=${[
          { label: 'Payout', cell: (/** @type {Payout} */ each) => html`<a class="mono" href=${router.href(`/payouts/${segment(each.id)}`)}>${each.id.slice(0, 14)}…</a>` },
          { label: 'Status', cell: (/** @type {Payout} */ each) => html`<${Status} ...${each} />` },
          { label: 'Amount', cell: (/** @type {Payout} */ each) => visibleName(each.amount_shown, 60), numeric: true },
          { label: 'Recipients', cell: (/** @type {Payout} */ each) => each.recipients.length, numeric: true },
        ]} /></${Pages}>
    </${Panel}>`;
}
