// Webhook targets and deliveries.

import { Loaded } from '../../lib/components/errors.js';
import { SelectField, TextField } from '../../lib/components/field.js';
import { HexBlock } from '../../lib/components/hash.js';
import { useRequest } from '../../lib/components/request.js';
import { Badge, Panel, Table } from '../../lib/components/table.js';
import { html, useState } from '../../lib/components/ui.js';
import { visibleName, visibleText } from '../../lib/text.js';
import { get, may, segment } from '../api.js';
import { router } from '../context.js';
import { ActionButton } from '../dialog.js';
import { Pages, usePages } from '../pages.js';

/** @typedef {import('../types.js').Webhook} Webhook */
/** @typedef {import('../types.js').Webhooks} Webhooks */
/** @typedef {import('../types.js').WebhookSecret} WebhookSecret */
/** @typedef {import('../types.js').Delivery} Delivery */
/** @typedef {import('../api.js').Change} Change */

const STATES = [{ value: '', label: 'All' }, { value: 'pending', label: 'Pending' }, { value: 'delivered', label: 'Delivered' }, { value: 'dead', label: 'Failed' }];
const TONES = /** @type {const} */ ({ pending: 'live', delivered: 'good', dead: 'bad' });

export const title = () => 'Webhooks';

/** @param {{onCreated: (made: WebhookSecret) => void}} props */
function Register({ onCreated }) {
  const [url, setUrl] = useState('');
  const [events, setEvents] = useState('');
  /** @param {Change} change */
  const send = async (change) => {
    const types = events.split(/[\s,]+/).filter((each) => each !== '');
    onCreated(await change.send('/v1/webhooks', types.length === 0 ? { url: url.trim() } : { url: url.trim(), events: types }));
  };
  return html`<${ActionButton} label="Add an endpoint" title="Add a webhook endpoint" confirm="Add" send=${send} isReady=${url.trim() !== ''}>
    ${() => html`<${TextField} label="URL" value=${url} onChange=${setUrl} isCode=${true} placeholder="https://shop.example/hooks" />
      <${TextField} label="Event types" value=${events} onChange=${setEvents} isCode=${true} hint="Such as order.captured refund.completed; empty for all" />`}
  </${ActionButton}>`;
}

/** @param {{hook: Webhook, onDone: () => void, onSecret: (made: WebhookSecret) => void}} props */
function WebhookActions({ hook, onDone, onSecret }) {
  const path = `/v1/webhooks/${segment(hook.id)}`;
  /** @param {Change} change */
  const rotate = async (change) => onSecret(await change.send(`${path}/rotate-secret`));
  return html`<div class="actions">
    ${may('POST /v1/webhooks/{id}/test') && html`<${ActionButton} label="Test" title="Send a test event?" confirm="Send" onDone=${onDone}
      send=${(/** @type {Change} */ change) => change.send(`${path}/test`)} />`}
    ${hook.origin === 'registered' && may('POST /v1/webhooks/{id}/rotate-secret') && html`<${ActionButton} label="New secret"
      title="Replace the secret?" confirm="Replace" send=${rotate} onDone=${onDone}>
      ${() => html`<p>The replaced secret signs as well for a day.</p>`}</${ActionButton}>`}
    ${may('POST /v1/webhooks/{id}/retire') && html`<${ActionButton} label="Remove" title="Remove this endpoint?" isDanger=${true} onDone=${onDone}
      send=${(/** @type {Change} */ change) => change.send(`${path}/retire`)}>
      ${() => html`<p>It receives no further events; pending deliveries are dropped.</p>`}</${ActionButton}>`}
  </div>`;
}

/** @param {{round: number, state: string}} props */
function Deliveries({ round, state }) {
  /** @type {ReturnType<typeof usePages<Delivery>>} */
  const list = usePages('/v1/deliveries', { state }, round);
  return html`<${Panel} title="Deliveries" aside=${html`<div class="actions">
      <${SelectField} label="Show" value=${state} options=${STATES} onChange=${(/** @type {string} */ value) => router.setQuery({ state: value })} />
      <button type="button" class="button" onClick=${list.reload}>Refresh</button></div>`}>
    <${Pages} list=${list}><${Table} caption="Deliveries, newest first" rows=${list.items} empty=${list.isLoading ? '' : 'No deliveries.'}
      rowKey=${(/** @type {Delivery} */ row) => String(row.id)} columns=${[
        { label: 'Event', cell: (/** @type {Delivery} */ row) => html`${row.event_type} <span class="mono muted">${row.event_id}</span>` },
        { label: 'Object', cell: (/** @type {Delivery} */ row) => `${row.object} ${visibleName(row.object_id, 24)}` },
        { label: 'Endpoint', cell: (/** @type {Delivery} */ row) => html`<span class="mono">${visibleName(row.webhook_id, 16)}</span>` },
        { label: 'State', cell: (/** @type {Delivery} */ row) => html`<${Badge} tone=${TONES[row.state]}>${row.state === 'dead' ? 'failed' : row.state}</${Badge}>` },
        { label: 'Attempts', cell: (/** @type {Delivery} */ row) => row.attempts, numeric: true },
        { label: 'Last error', cell: (/** @type {Delivery} */ row) => (row.last_error === null ? '' : visibleText(row.last_error, 120)) },
        { label: '', cell: (/** @type {Delivery} */ row) => row.state === 'dead' && may('POST /v1/deliveries/{id}/retry') && html`<${ActionButton}
          label="Retry" title="Deliver this event again?" onDone=${list.reload}
          send=${(/** @type {Change} */ change) => change.send(`/v1/deliveries/${row.id}/retry`)} />` },
      ]} /></${Pages}>
  </${Panel}>`;
}

/** @param {{location: import('../../lib/router.js').Location}} props */
export default function WebhooksPage({ location }) {
  const request = useRequest((signal) => /** @type {Promise<Webhooks>} */ (get('/v1/webhooks', { signal })), []);
  const [made, setMade] = useState(/** @type {WebhookSecret | null} */ (null));
  const [round, setRound] = useState(0);
  const onDone = () => {
    request.reload();
    setRound((count) => count + 1);
  };
  /** @param {WebhookSecret} created */
  const onSecret = (created) => {
    setMade(created);
    request.reload();
  };
  return html`<h1>Webhooks</h1>
    ${made && html`<div class="notice notice-good" role="status">
      <p>Store the secret of ${visibleName(made.webhook.url, 80)} now: it is not shown again.</p>
      <${HexBlock} value=${made.secret} label="webhook secret" />
      <button type="button" class="button" onClick=${() => setMade(null)}>Done</button></div>`}
    <${Panel} title="Endpoints" aside=${may('POST /v1/webhooks') && html`<${Register} onCreated=${onSecret} />`}>
      <${Loaded} request=${request}>${(/** @type {Webhooks} */ { items }) => html`<${Table} caption="Webhook endpoints" rows=${items}
        empty="No endpoints." rowKey=${(/** @type {Webhook} */ hook) => hook.id} columns=${[
          { label: 'URL', cell: (/** @type {Webhook} */ hook) => html`<span class="mono">${visibleName(hook.url, 80)}</span>` },
          { label: 'Events', cell: (/** @type {Webhook} */ hook) => (hook.events === null ? 'all' : `${hook.events.length} types`) },
          { label: 'Origin', cell: (/** @type {Webhook} */ hook) => hook.origin },
          { label: 'State', cell: (/** @type {Webhook} */ hook) => (hook.retired === null ? html`<${Badge} tone="good">active</${Badge}>` : html`<${Badge}>removed</${Badge}>`) },
          { label: '', cell: (/** @type {Webhook} */ hook) => hook.retired === null && html`<${WebhookActions} hook=${hook} onDone=${onDone} onSecret=${onSecret} />` },
        ]} />`}</${Loaded}>
    </${Panel}>
    <${Deliveries} round=${round} state=${location.query.get('state') ?? ''} />`;
}
