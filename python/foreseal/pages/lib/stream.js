// Subscriptions over a WebSocket, across lost connections.
//
//     connect -> subscribe -> message, message ... -> connection lost -> back off -> connect
//
// The feed of steps resumes at its cursor: the last step that it delivered. It neither skips nor repeats a step.

import { RpcError } from './rpc.js';
import { StepAssembler } from './step-assembler.js';

/** @typedef {'connecting' | 'live' | 'waiting' | 'failed' | 'stopped'} StreamState */
/** @typedef {{block: string, index: string, hash: string}} Cursor */
/**
 * @typedef {{readyState?: number, send: (text: string) => void, close: (code?: number) => void,
 *   onopen: ((event: any) => void) | null, onmessage: ((event: any) => void) | null,
 *   onclose: ((event: any) => void) | null, onerror: ((event: any) => void) | null}} Socket
 */
/** @typedef {{set: (callback: () => void, ms: number) => any, clear: (timer: any) => void}} Timers */
/**
 * @typedef {{createSocket?: (url: string) => Socket, timers?: Timers, random?: () => number,
 *   onState?: (state: StreamState, error: Error | null) => void}} StreamOptions
 */
/**
 * Message of `foreseal_feed` for a step.
 * @typedef {{number: string, index: string, hash: string, parent: string, time: string, signature: string | null,
 *   header: Record<string, any>, transactions: Record<string, any>[], receipts: Record<string, any>[],
 *   removed: boolean}} StepMessage
 */

const MIN_DELAY = 250;
const MAX_DELAY = 10_000;
const MAX_SILENCE = 30_000;
const CURSOR_GONE = -32001;
const LIMIT_EXCEEDED = -32005;
const STARTING = -32002;
const MAX_CURSORS = 1024;

/**
 * Returns the WebSocket address of an HTTP address.
 * @param {string} url
 */
export const webSocketUrl = (url) => url.replace(/^http/, 'ws');

/** Error object of a rejected subscription. */
export class SubscriptionError extends RpcError {
  /** @override */
  name = 'SubscriptionError';
}

/** A subscription that is renewed after each lost connection. */
export class SubscriptionStream {
  /** @type {StreamState} */
  state = 'stopped';
  /** @type {Socket | null} */
  #socket = null;
  /** @type {string | null} */
  #subscription = null;
  #request = 0;
  #lastRequest = 0;
  #failures = 0;
  /** @type {any} */
  #retry = null;
  /** @type {any} */
  #silence = null;
  #url;
  #kind;
  #options;
  #timers;
  #createSocket;
  #random;

  /**
   * @param {string} url address of the WebSocket
   * @param {string} kind name of the subscription
   * @param {StreamOptions} [options]
   */
  constructor(url, kind, options = {}) {
    this.#url = url;
    this.#kind = kind;
    this.#options = options;
    this.#timers = options.timers ?? { set: (run, ms) => setTimeout(run, ms), clear: (timer) => clearTimeout(timer) };
    this.#createSocket = options.createSocket ?? ((address) => /** @type {any} */ (new WebSocket(address)));
    this.#random = options.random ?? Math.random;
  }

  /** Returns the options of the subscription. @returns {unknown[]} */
  parameters() {
    return [];
  }

  /** Processes one message. @param {any} _result */
  receive(_result) {}

  /** Processes the loss of a connection. */
  disconnected() {}

  /** Processes a rejected subscription. Returns true to subscribe again. @param {SubscriptionError} _error */
  recover(_error) {
    return false;
  }

  start() {
    if (this.state !== 'stopped' && this.state !== 'failed') return;
    this.#failures = 0;
    this.#connect();
  }

  stop() {
    this.#drop();
    this.#setState('stopped');
  }

  /** Subscribes again on the same connection, with the current parameters. */
  resubscribe() {
    if (this.#socket === null) return;
    this.disconnected();
    if (this.#subscription !== null) this.#send('eth_unsubscribe', [this.#subscription]);
    this.#subscribe();
  }

  #connect() {
    this.#setState('connecting');
    const socket = this.#createSocket(this.#url);
    this.#socket = socket;
    this.#watchSilence();
    socket.onopen = () => this.#subscribe();
    socket.onmessage = (/** @type {{data: unknown}} */ event) => {
      if (this.#socket === socket) this.#handle(event.data);
    };
    socket.onerror = () => {};
    socket.onclose = () => {
      if (this.#socket === socket) this.#reconnect();
    };
  }

  #subscribe() {
    this.#subscription = null;
    this.#request = this.#send('eth_subscribe', [this.#kind, ...this.parameters()]);
  }

  /** @param {string} method @param {unknown[]} params */
  #send(method, params) {
    this.#lastRequest += 1;
    this.#socket?.send(JSON.stringify({ jsonrpc: '2.0', id: this.#lastRequest, method, params }));
    return this.#lastRequest;
  }

  /** @param {unknown} text */
  #handle(text) {
    let message;
    try {
      message = JSON.parse(String(text));
    } catch {
      this.#reconnect();
      return;
    }
    this.#watchSilence();
    if (message?.id === this.#request) this.#subscribed(message);
    if (this.#subscription === null || message?.params?.subscription !== this.#subscription) return;
    this.#failures = 0;
    if (message.method === 'foreseal_lagged') this.resubscribe();
    else if (message.method === 'eth_subscription') this.receive(message.params.result);
  }

  /** @param {{result?: unknown, error?: {code: number, message: string, data?: unknown}}} answer */
  #subscribed({ result, error }) {
    if (!error) {
      this.#subscription = String(result);
      this.#setState('live');
      return;
    }
    const rejection = new SubscriptionError(error);
    if (this.recover(rejection)) this.#subscribe();
    else if (error.code === LIMIT_EXCEEDED || error.code === STARTING) this.#reconnect(rejection);
    else this.#fail(rejection);
  }

  /** @param {Error} error */
  #fail(error) {
    this.#drop();
    this.#setState('failed', error);
  }

  /** @param {RpcError | null} [error] reason of the node, which may name a time */
  #reconnect(error = null) {
    this.#drop();
    this.#setState('waiting', error);
    // The listener may have stopped the stream.
    if (this.state !== 'waiting') return;
    const delay = Math.min(MAX_DELAY, MIN_DELAY * 2 ** this.#failures);
    const wait = Math.min(MAX_DELAY, error?.retryAfterMs ?? 0);
    this.#failures += 1;
    // Jitter prevents many viewers from returning at the same moment.
    this.#retry = this.#timers.set(() => this.#connect(), wait + delay * (0.5 + this.#random() / 2));
  }

  #drop() {
    this.disconnected();
    this.#timers.clear(this.#retry);
    this.#timers.clear(this.#silence);
    const socket = this.#socket;
    this.#socket = null;
    this.#subscription = null;
    if (socket === null) return;
    socket.onopen = null;
    socket.onmessage = null;
    socket.onclose = null;
    socket.close();
  }

  #watchSilence() {
    this.#timers.clear(this.#silence);
    this.#silence = this.#timers.set(() => this.#reconnect(), MAX_SILENCE);
  }

  /** @param {StreamState} state @param {Error | null} [error] */
  #setState(state, error = null) {
    this.state = state;
    this.#options.onState?.(state, error);
  }
}

/**
 * The feed of steps. A step in parts is delivered once it is complete.
 * @typedef {{onStep: (step: StepMessage) => void, onHeartbeat?: (cursor: Cursor) => void,
 *   onGap?: () => void}} FeedEvents
 */
export class FeedStream extends SubscriptionStream {
  /** @type {Cursor | null} */
  cursor;
  /** @type {Map<string, Cursor>} */
  #cursors = new Map();
  #parts = new StepAssembler();
  #events;

  /**
   * @param {string} url
   * @param {FeedEvents & StreamOptions & {cursor?: Cursor | null}} options `onGap` reports that steps are missing, so
   * that the caller reads the chain again
   */
  constructor(url, options) {
    super(url, 'foreseal_feed', options);
    this.#events = options;
    this.cursor = options.cursor ?? null;
    if (this.cursor) this.#remember(this.cursor);
  }

  /** @override */
  parameters() {
    return this.cursor === null ? [] : [this.cursor];
  }

  /** @override @param {SubscriptionError} error */
  recover(error) {
    if (error.code !== CURSOR_GONE || this.cursor === null) return false;
    this.cursor = null;
    this.#events.onGap?.();
    return true;
  }

  /** @override @param {{heartbeat: Cursor} | StepMessage} message */
  receive(message) {
    if ('heartbeat' in message) {
      this.#heartbeat(message.heartbeat);
      return;
    }
    let step;
    try {
      step = this.#parts.add(message);
    } catch {
      this.resubscribe();
      return;
    }
    if (step === null) return;
    const follows = step.removed ? step.hash : step.parent;
    if (this.cursor !== null && this.cursor.hash !== follows) {
      this.resubscribe();
      return;
    }
    this.cursor = step.removed ? this.#before(step) : cursorOf(step);
    if (this.cursor) this.#remember(this.cursor);
    this.#events.onStep(step);
  }

  /** Drops an incomplete step. @override */
  disconnected() {
    this.#parts.clear();
  }

  /** @param {Cursor} newest */
  #heartbeat(newest) {
    if (this.cursor === null) {
      this.cursor = newest;
      this.#remember(newest);
    } else if (this.cursor.hash !== newest.hash) {
      this.resubscribe();
      return;
    }
    this.#events.onHeartbeat?.(newest);
  }

  /**
   * Returns the cursor before a removed step, or null if it is not cached.
   * @param {StepMessage} step
   */
  #before(step) {
    if (BigInt(step.index) > 0n) {
      return { block: step.number, index: `0x${(BigInt(step.index) - 1n).toString(16)}`, hash: step.parent };
    }
    return this.#cursors.get(step.parent) ?? null;
  }

  /** @param {Cursor} cursor */
  #remember(cursor) {
    this.#cursors.set(cursor.hash, cursor);
    if (this.#cursors.size <= MAX_CURSORS) return;
    const [oldest] = this.#cursors.keys();
    if (oldest !== undefined) this.#cursors.delete(oldest);
  }
}

/**
 * Returns the cursor of a step.
 * @param {StepMessage} step
 * @returns {Cursor}
 */
export const cursorOf = ({ number, index, hash }) => ({ block: number, index, hash });

/** Transactions that enter the pool. */
export class PoolStream extends SubscriptionStream {
  #full;
  #onTransaction;

  /**
   * @param {string} url
   * @param {StreamOptions & {full?: boolean, onTransaction: (transaction: any) => void}} options
   */
  constructor(url, { full = false, onTransaction, ...options }) {
    super(url, 'newPendingTransactions', options);
    this.#full = full;
    this.#onTransaction = onTransaction;
  }

  /** @override */
  parameters() {
    return [this.#full];
  }

  /** @override @param {any} transaction */
  receive(transaction) {
    this.#onTransaction(transaction);
  }
}
